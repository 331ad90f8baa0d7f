"""The 43 queries of ClickBench and its table of 105 columns."""

from __future__ import annotations

import re
from pathlib import Path

_TEXT = [
    "Title",
    "URL",
    "Referer",
    "MobilePhoneModel",
    "Params",
    "SearchPhrase",
    "PageCharset",
    "OriginalURL",
    "BrowserLanguage",
    "BrowserCountry",
    "SocialNetwork",
    "SocialAction",
    "SocialSourcePage",
    "ParamOrderID",
    "ParamCurrency",
    "OpenstatServiceName",
    "OpenstatCampaignID",
    "OpenstatAdID",
    "OpenstatSourceID",
    "UTMSource",
    "UTMMedium",
    "UTMCampaign",
    "UTMContent",
    "UTMTerm",
    "FromTag",
    "UserAgentMinor",
    "HitColor",
]
_TIMES = ["EventTime", "ClientEventTime", "LocalEventTime"]
_WHOLE = [
    "WatchID",
    "JavaEnable",
    "GoodEvent",
    "CounterID",
    "ClientIP",
    "RegionID",
    "UserID",
    "CounterClass",
    "OS",
    "UserAgent",
    "IsRefresh",
    "RefererCategoryID",
    "RefererRegionID",
    "URLCategoryID",
    "URLRegionID",
    "ResolutionWidth",
    "ResolutionHeight",
    "ResolutionDepth",
    "FlashMajor",
    "FlashMinor",
    "FlashMinor2",
    "NetMajor",
    "NetMinor",
    "UserAgentMajor",
    "CookieEnable",
    "JavascriptEnable",
    "IsMobile",
    "MobilePhone",
    "IPNetworkID",
    "TraficSourceID",
    "SearchEngineID",
    "AdvEngineID",
    "IsArtifical",
    "WindowClientWidth",
    "WindowClientHeight",
    "ClientTimeZone",
    "SilverlightVersion1",
    "SilverlightVersion2",
    "SilverlightVersion3",
    "SilverlightVersion4",
    "CodeVersion",
    "IsLink",
    "IsDownload",
    "IsNotBounce",
    "FUniqID",
    "HID",
    "IsOldCounter",
    "IsEvent",
    "IsParameter",
    "DontCountHits",
    "WithHash",
    "Age",
    "Sex",
    "Income",
    "Interests",
    "Robotness",
    "RemoteIP",
    "WindowName",
    "OpenerName",
    "HistoryLength",
    "HTTPError",
    "SendTiming",
    "DNSTiming",
    "ConnectTiming",
    "ResponseStartTiming",
    "ResponseEndTiming",
    "FetchTiming",
    "SocialSourceNetworkID",
    "ParamPrice",
    "ParamCurrencyID",
    "HasGCLID",
    "RefererHash",
    "URLHash",
    "CLID",
]
COLUMNS: dict[str, str] = {
    **dict.fromkeys(_WHOLE, "BIGINT"),
    **dict.fromkeys(_TEXT, "VARCHAR"),
    **dict.fromkeys(_TIMES, "TIMESTAMP"),
    "EventDate": "DATE",
}


def queries() -> list[str]:
    """The SQL texts, without line ends."""
    text = Path(__file__).with_name("queries.sql").read_text()
    return [line.rstrip(";") for line in text.splitlines() if line]


def with_total_order(text: str, width: int) -> str:
    """The query with its rows ordered by all columns where its own order leaves ties, as Cauce orders them."""
    positions = ", ".join(str(number) for number in range(1, width + 1))
    if " ORDER BY " not in text:
        return re.sub(r"( LIMIT \d+)", rf" ORDER BY {positions}\1", text)
    return re.sub(r"( ORDER BY .*?)( LIMIT .*)?$", rf"\1, {positions}\2", text)
