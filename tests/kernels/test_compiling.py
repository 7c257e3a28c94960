"""Kept code must load without what only compiling needs, and whatever stands in the way must not break a kernel."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import fairexp.kernels
from fairexp.kernels import compiling
from fairexp.kernels.compiling import KeptCode, import_at_once, kernel, loads_directly

SMALL = """
import numpy as np
from fairexp.kernels.compiling import kernel

@kernel
def inner(x):
    return 2.0 * x

@kernel(nogil=True)
def doubled(x):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = inner(x[i])
    return out
"""

CALL = """
import json, sys
import numpy as np
from small import doubled
first = doubled(np.array([1.0, 2.0])).tolist()
prepared = "numba.np.linalg" in sys.modules
from numba import njit
later = njit(lambda x: np.dot(doubled(x), x))(np.array([1.0, 2.0]))
hits = sum(doubled.stats.cache_hits.values())
print(json.dumps({"first": first, "prepared": prepared, "hits": hits, "later": later}))
"""

FIRST_RANK = """
import sys
import numpy as np
from fairexp import FairExp, PairRank, Query
ranker = FairExp(PairRank(n_features=5, length=3), tolerance=0.5, beta=1.0, seed=7)
ranking = ranker.rank(Query(features=np.random.default_rng(0).random((20, 5)), groups=np.arange(20) % 2))
print("numba.np.linalg" in sys.modules or "scipy.linalg" in sys.modules, ranking.shown.tolist())
"""

needs_known_numba = pytest.mark.skipif(not loads_directly(), reason="code is loaded in numba's own way")


def in_new_process(code, *, folder=None, **environment):
    command, variables = [sys.executable, "-c", code], {**os.environ, **environment}
    return subprocess.check_output(command, text=True, cwd=folder, env=variables).strip()


@needs_known_numba
def test_kept_code_loads_without_preparing_to_compile_and_compiling_still_works(tmp_path):
    (tmp_path / "small.py").write_text(SMALL)
    kept = str(tmp_path / "kept")
    compiled, loaded = (json.loads(in_new_process(CALL, folder=tmp_path, NUMBA_CACHE_DIR=kept)) for _ in range(2))
    assert compiled == {"first": [2.0, 4.0], "prepared": True, "hits": 0, "later": 10.0}
    assert loaded == {"first": [2.0, 4.0], "prepared": False, "hits": 1, "later": 10.0}


@needs_known_numba
def test_the_first_ranking_of_a_process_prepares_nothing():
    compiled, loaded = (in_new_process(FIRST_RANK).split(" ", 1) for _ in range(2))
    assert loaded[0] == "False"
    assert loaded[1] == compiled[1]


@needs_known_numba
def test_every_kernel_is_kept_in_this_way():
    for module in pkgutil.iter_modules(fairexp.kernels.__path__, "fairexp.kernels."):
        names = vars(importlib.import_module(module.name))
        for name, value in names.items():
            if hasattr(value, "py_func"):
                assert isinstance(value._cache, KeptCode), f"{module.name}.{name}: expected @kernel, not @njit"


def test_without_a_compiler_kernels_are_plain_functions():
    code = (
        "from numpy import ones; from fairexp.kernels.gaps import largest_gap as f; print(type(f), f(ones(2), ones(2)))"
    )
    assert in_new_process(code, NUMBA_DISABLE_JIT="1") == "<class 'function'> 0.0"


@pytest.mark.parametrize(
    ("version", "known"), [((0, 59), False), ((0, 60), True), ((0, 999), False), ((1, 0), False), ((None, None), False)]
)
def test_only_versions_that_were_tried_are_known(version, known):
    assert loads_directly(version) is known


def test_other_versions_get_what_numba_offers(monkeypatch):
    monkeypatch.setattr(compiling, "loads_directly", lambda: False)
    compiled = kernel(add_one)
    assert not isinstance(compiled._cache, KeptCode)
    assert compiled.stats.cache_path is not None
    assert compiled(1) == 2


def add_one(x):
    return x + 1


class Files:
    """numba's cache of a function, of which only the whole way works."""

    cache_path = "somewhere"

    def _load_overload(self, signature, context):
        raise ImportError("something is not there without preparation")

    def load_overload(self, signature, context):
        return f"{signature}, prepared"


def test_what_cannot_be_loaded_directly_is_loaded_in_numbas_way():
    dispatcher = SimpleNamespace(_cache=None)
    dispatcher.enable_caching = lambda: setattr(dispatcher, "_cache", Files())
    dispatcher._cache = kept = KeptCode(dispatcher)
    context = importlib.import_module("numba.core.registry").cpu_target.target_context
    assert kept.load_overload("signature", context) == "signature, prepared"
    assert dispatcher._cache is kept
    assert kept.cache_path == "somewhere"


def test_where_nothing_can_be_kept_kernels_work_and_say_so():
    names = {}
    exec(compile("def double(x): return 2 * x", "<no file>", "exec"), names)
    double = kernel(names["double"])
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert double(np.float64(4.0)) == 8.0
    assert double.stats.cache_path is None


@pytest.mark.parametrize("source", ["VALUE = 1\n", "raise ImportError('on purpose')\n"])
@pytest.mark.parametrize("collecting", [True, False])
def test_collecting_garbage_goes_on_as_before(tmp_path, monkeypatch, source, collecting):
    name = f"large_{collecting}_{len(source)}"
    (tmp_path / f"{name}.py").write_text("import gc\nWHILE_IMPORTED = gc.isenabled()\n" + source)
    monkeypatch.syspath_prepend(tmp_path)
    if not collecting:
        gc.disable()
    try:
        if "raise" in source:
            with pytest.raises(ImportError, match="on purpose"):
                import_at_once(name)
        else:
            assert import_at_once(name).WHILE_IMPORTED is False
        assert gc.isenabled() is collecting
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
        sys.modules.pop(name, None)
