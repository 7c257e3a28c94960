"""Charts and pages, each defined once; they need the extra `fairexp[charts]`.

Rows are summed up to points (`rows`); `curves`, `frontier`, `reliability` and `violations` draw them (`drawing`,
`labels`, `style`); `save` and `figures` write pictures; `pages` fills the templates of all HTML, and `report` is the
demo's.
"""

from fairexp.charts.curves import Manner, charts, heldout_chart, online_chart, unfairness_chart
from fairexp.charts.figures import save_figures, side_by_side
from fairexp.charts.frontier import frontier_chart
from fairexp.charts.reliability import reliability_chart
from fairexp.charts.report import Fact, report_html
from fairexp.charts.save import save_charts
from fairexp.charts.violations import violations_chart

__all__ = [
    "Fact",
    "Manner",
    "charts",
    "frontier_chart",
    "heldout_chart",
    "online_chart",
    "reliability_chart",
    "report_html",
    "save_charts",
    "save_figures",
    "side_by_side",
    "unfairness_chart",
    "violations_chart",
]
