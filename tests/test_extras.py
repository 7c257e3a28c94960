"""The core runs with NumPy alone; every other part says in one line which extra it needs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
IMPORT_NAMES = {"pyyaml": "yaml", "vl-convert-python": "vl_convert", "prometheus-client": "prometheus_client"}


def without(hidden: list[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run code where these packages cannot be imported."""
    hide = f"import sys\nsys.modules.update(dict.fromkeys({hidden}))\n"
    return subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True, check=False)


def without_extras(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where no package of any extra can be imported."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    packages = {re.split(r"[\[><=;]", each)[0] for name, needed in extras.items() if name != "dev" for each in needed}
    return without(sorted(IMPORT_NAMES.get(package, package) for package in packages - {"fairexp"}), code)


def test_the_readmes_lines_run_with_numpy_alone() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL):
        result = without_extras(block)
        assert result.returncode == 0, result.stderr


def test_every_module_of_the_core_is_imported_with_numpy_alone() -> None:
    result = without_extras(
        "import pkgutil, fairexp\n"
        "outside = ('lab', 'charts', 'service', 'client', 'cli', '__main__', 'validation_messages', 'yaml_reader')\n"
        "def walk(package):\n"
        "    for found in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "        if found.name.split('.')[1] in outside or found.name.endswith(('_baseline', '_v3')):\n"
        "            continue\n"
        "        module = __import__(found.name, fromlist=['_'])\n"
        "        if found.ispkg:\n"
        "            walk(module)\n"
        "walk(fairexp)\n"
        "from fairexp.registry import ranker_class, ranker_names\n"
        "print(len(ranker_names()))\n"
    )
    assert result.returncode == 0 and int(result.stdout) > 60, result.stderr


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("import fairexp.lab.data", "lab"),
        ("import fairexp.service.settings", "service"),
        ("import fairexp.client", "client"),
        ("from fairexp.charts.extra import altair\naltair()", "charts"),
    ],
)
def test_a_missing_extra_is_one_clear_line(code: str, extra: str) -> None:
    result = without_extras(code)
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("fairexp.errors.MissingExtraError: fairexp.")
    assert last.endswith(f"pip install 'fairexp[{extra}]'")


def test_the_command_without_its_packages_says_how_to_get_them() -> None:
    result = without_extras("from fairexp.cli import main\nmain()")
    assert result.returncode == 1
    assert result.stderr == "The command fairexp needs typer, rich. Install it: pip install 'fairexp[lab]'\n"


def test_the_service_and_its_commands_run_without_the_laboratory(tmp_path: Path) -> None:
    command = ["fairexp", "keys", "add", "mine", "--role", "admin", "--store", str(tmp_path / "store.db")]
    code = f"import sys\nimport fairexp.service.http.app\nfrom fairexp.cli import main\nsys.argv = {command}\nmain()"
    result = without(["pyarrow"], code)
    assert result.returncode == 0, result.stderr
    demo = without(["pyarrow"], "import sys\nfrom fairexp.cli import main\nsys.argv = ['fairexp', 'demo']\nmain()")
    assert demo.returncode == 2
    assert demo.stderr == "Error: fairexp.lab needs pyarrow. Install it: pip install 'fairexp[lab]'\n"
