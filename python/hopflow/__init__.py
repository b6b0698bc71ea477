"""Design, measure and run transports for onion-routing overlays such as Tor.

    results = hopflow.compare("quickstart", transports=["vanilla", "backtap"])
    results.summary.to_pandas()
    results.downloads          # one pyarrow table over all runs

The same runs, folders and reports come from the command line, `python -m hopflow`. What learns from
traces or makes traffic lies in subpackages that need the extra `hopflow[adversarial]`.
"""

from hopflow._errors import HopflowError
from hopflow._runs import (
    compare,
    list_experiments,
    list_options,
    list_scenarios,
    list_transports,
    reproduce,
    run,
    schema,
    validate,
)
from hopflow._runs import open as open
from hopflow.campaign import Campaign, CampaignResults, open_campaign
from hopflow.progress import Progress
from hopflow.results import Results

__all__ = [
    "Campaign",
    "CampaignResults",
    "HopflowError",
    "Progress",
    "Results",
    "compare",
    "list_experiments",
    "list_options",
    "list_scenarios",
    "list_transports",
    "open_campaign",
    "reproduce",
    "run",
    "schema",
    "validate",
]
