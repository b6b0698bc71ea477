"""Campaigns: parameters times transports times networks, from two cores to a cluster.

    campaign = hopflow.Campaign("quickstart", vary={"circuits[1].count": "5..40:4"},
                                precision={"web_ttlb_median": "5 %"})
    results = campaign.run()                  # this machine's cores, or client=dask_client
    results.runs                              # a row per run; one partitioned Parquet data set

Clusters, reports and sampled designs need the extra `hopflow[campaign]`.
"""

from hopflow.campaign.campaign import Campaign, read_campaign, scenario_text
from hopflow.campaign.results import CampaignResults, open_campaign
from hopflow.campaign.values import Span
from hopflow.campaign.watch import CampaignProgress

__all__ = [
    "Campaign",
    "CampaignProgress",
    "CampaignResults",
    "Span",
    "open_campaign",
    "read_campaign",
    "scenario_text",
]
