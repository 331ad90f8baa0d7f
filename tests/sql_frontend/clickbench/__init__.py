"""The 43 queries of ClickBench, its table of 105 columns, and random rows for it."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

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

_HOSTS = ("http://www.google.com/", "https://news.example/", "http://shop.example/cart/", "http://www.video.example/a/")
_PHRASES = ("cats", "google maps", "news 24", "weather", "buy 10 pens")
_BIG = (3594120000172545465, 2868770270353813622, 435090932899640449, 62, 17)


def random_rows(count: int, seed: int = 1) -> list[list[Any]]:
    """Rows with few different values, NULL for empty texts."""
    choose = random.Random(seed)
    return [[_cell(choose, name, kind) for name, kind in COLUMNS.items()] for _ in range(count)]


def _cell(choose: random.Random, name: str, kind: str) -> Any:
    if kind == "VARCHAR":
        return _text(choose, name)
    if kind == "DATE":
        return dt.date(2013, 7, choose.randint(12, 16))
    if kind == "TIMESTAMP":
        return dt.datetime(
            2013, 7, choose.randint(13, 16), choose.randint(0, 23), choose.randint(0, 59), choose.randint(0, 59)
        )
    if name in ("RefererHash", "URLHash", "UserID"):
        return choose.choice(_BIG)
    if name == "WatchID":
        return choose.randint(10**17, 9 * 10**18)
    if name == "CounterID":
        return choose.choice([62, 62, 7, 1000])
    return choose.choice([0, 0, 1, 6, -1, choose.randint(1, 30)])


def _text(choose: random.Random, name: str) -> str | None:
    if choose.random() < 0.3:
        return None
    if name in ("URL", "Referer", "OriginalURL"):
        return f"{choose.choice(_HOSTS)}{choose.choice(['', 'index.html', 'page/2?q=1'])}"
    if name == "Title":
        return choose.choice(["Google news", "A video", "Sport today", "Pens"])
    return choose.choice(_PHRASES)


def queries() -> list[str]:
    """The SQL texts, without line ends."""
    text = Path(__file__).with_name("queries.sql").read_text()
    return [line.rstrip(";") for line in text.splitlines() if line]
