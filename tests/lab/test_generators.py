"""The synthetic files: same bytes for the same seed, the real format and quirks, rows for every query."""

from __future__ import annotations

import ast
import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from cauce.errors import UnknownName, UsageError
from cauce.lab.generators import DATASETS, generate
from cauce.lab.generators.tables.geography import AIRPORTS, ENDPOINTS, miles

csv.field_size_limit(1 << 27)

SCALE = {"books": 0.002, "movies": 0.002, "flights": 0.0005, "coffee": 0.002}
HEADERS = {
    "books_data.csv": "Title,description,authors,image,previewLink,publisher,publishedDate,infoLink,"
    "categories,ratingsCount",
    "Books_rating.csv": "Id,Title,Price,User_id,profileName,review/helpfulness,review/score,review/time,"
    "review/summary,review/text",
    "movies_metadata.csv": "adult,belongs_to_collection,budget,genres,homepage,id,imdb_id,original_language,"
    "original_title,overview,popularity,poster_path,production_companies,production_countries,release_date,"
    "revenue,runtime,spoken_languages,status,tagline,title,video,vote_average,vote_count",
    "ratings.csv": "userId,movieId,rating,timestamp",
    "credits.csv": "cast,crew,id",
    "itineraries.csv": "legId,searchDate,flightDate,startingAirport,destinationAirport,fareBasisCode,"
    "travelDuration,elapsedDays,isBasicEconomy,isRefundable,isNonStop,baseFare,totalFare,seatsRemaining,"
    "totalTravelDistance,segmentsDepartureTimeEpochSeconds,segmentsDepartureTimeRaw,segmentsArrivalTimeEpochSeconds,"
    "segmentsArrivalTimeRaw,segmentsArrivalAirportCode,segmentsDepartureAirportCode,segmentsAirlineName,"
    "segmentsAirlineCode,segmentsEquipmentDescription,segmentsDurationInSeconds,segmentsDistance,segmentsCabinCode",
    "transactions/transactions_202401.csv": "transaction_id,store_id,payment_method_id,voucher_id,user_id,"
    "original_amount,discount_applied,final_amount,created_at",
    "transaction_items/transaction_items_202506.csv": "transaction_id,item_id,quantity,unit_price,subtotal,created_at",
    "users/users_202307.csv": "user_id,gender,birthdate,registered_at",
    "stores/stores.csv": "store_id,store_name,street,postal_code,city,state,latitude,longitude",
    "menu_items/menu_items.csv": "item_id,item_name,category,price,is_seasonal,available_from,available_to",
}
ROWS = {
    "books_data.csv": 425,
    "Books_rating.csv": 6_000,
    "movies_metadata.csv": 91,
    "ratings.csv": 52_049,
    "credits.csv": 91,
    "itineraries.csv": 41_069,
    "stores/stores.csv": 10,
    "menu_items/menu_items.csv": 8,
}
PINNED = {
    "books": "9674f0f8e6abf440",
    "movies": "abd722bed8708b17",
    "flights": "55e1f12cd658fbd5",
    "coffee": "5b5e4bd47a3a5dd2",
}
Row = dict[str, str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("synth")
    for dataset in DATASETS:
        generate(dataset, out, scale=SCALE[dataset])
    return out


def read(path: Path) -> list[Row]:
    """Whole records only, by column."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *records = csv.reader(file)
    return [dict(zip(header, record, strict=True)) for record in records if len(record) == len(header)]


@pytest.fixture(scope="module")
def books(data: Path) -> list[Row]:
    return read(data / "books_data.csv")


@pytest.fixture(scope="module")
def reviews(data: Path) -> list[Row]:
    return read(data / "Books_rating.csv")


@pytest.fixture(scope="module")
def movies(data: Path) -> list[Row]:
    return read(data / "movies_metadata.csv")


@pytest.fixture(scope="module")
def flights(data: Path) -> list[Row]:
    return read(data / "itineraries.csv")


@pytest.fixture(scope="module")
def sales(data: Path) -> list[Row]:
    return [row for path in sorted((data / "transactions").iterdir()) for row in read(path)]


def digests(out: Path) -> dict[str, str]:
    return {str(path.relative_to(out)): sha256(path.read_bytes()).hexdigest() for path in files(out)}


def files(out: Path) -> Iterator[Path]:
    return (path for path in sorted(out.rglob("*")) if path.is_file())


def year(book: Row) -> int:
    found = re.search(r"[0-9]{4}", book["publishedDate"])
    return int(found.group()) if found else 0


def complete(books: list[Row]) -> list[Row]:
    return [b for b in books if b["Title"] and b["authors"] and b["categories"] and b["publishedDate"]]


def countries(movie: Row) -> list[str]:
    return [country["name"] for country in ast.literal_eval(movie["production_countries"])]


@pytest.mark.parametrize("dataset", DATASETS)
def test_same_seed_gives_same_bytes_and_another_gives_others(dataset: str, tmp_path: Path) -> None:
    for folder, seed in (("one", 7), ("again", 7), ("other", 8)):
        generate(dataset, tmp_path / folder, scale=0.0002, seed=seed)
    one, again, other = (digests(tmp_path / folder) for folder in ("one", "again", "other"))
    assert one == again
    assert one != other


def test_bytes_do_not_change_from_one_version_to_the_next(tmp_path: Path) -> None:
    """Measurements for a seed must stay reproducible: a change here changes the input of every benchmark."""
    found = {}
    for dataset in DATASETS:
        generate(dataset, tmp_path / dataset, scale=0.0001, seed=1)
        whole = sha256("".join(digests(tmp_path / dataset).values()).encode())
        found[dataset] = whole.hexdigest()[:16]
    assert found == PINNED


@pytest.mark.parametrize("dataset", DATASETS)
def test_returns_and_reports_the_bytes_of_each_file(dataset: str, tmp_path: Path) -> None:
    reported: list[int] = []
    written = generate(dataset, tmp_path, scale=0.0002, progress=reported.append)
    assert written == {str(path.relative_to(tmp_path)): path.stat().st_size for path in files(tmp_path)}
    assert sum(reported) == sum(written.values())


def test_only_limits_the_tables(tmp_path: Path) -> None:
    assert list(generate("movies", tmp_path / "some", scale=0.0002, only=["credits"])) == ["credits.csv"]
    generate("movies", tmp_path / "all", scale=0.0002)
    assert (tmp_path / "some/credits.csv").read_bytes() == (tmp_path / "all/credits.csv").read_bytes()


def test_unknown_names_and_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        generate("music", tmp_path)
    with pytest.raises(UnknownName):
        generate("books", tmp_path, only=["authors"])
    with pytest.raises(UsageError):
        generate("books", tmp_path, scale=0)


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_smallest_scale_works(dataset: str, tmp_path: Path) -> None:
    assert all(size > 0 for size in generate(dataset, tmp_path, scale=1e-7).values())


@pytest.mark.parametrize("file", HEADERS)
def test_headers_are_those_of_the_real_files(data: Path, file: str) -> None:
    assert (data / file).read_text(encoding="utf-8").split("\n", 1)[0] == HEADERS[file]


@pytest.mark.parametrize("file", ROWS)
def test_rows_scale_with_the_real_ones(data: Path, file: str) -> None:
    with (data / file).open(encoding="utf-8", newline="") as opened:
        assert sum(1 for _ in csv.reader(opened)) - 1 == ROWS[file]


def test_files_are_written_with_minimal_quoting(data: Path) -> None:
    for path in files(data):
        if path.name == "airports-codepublic.csv":
            continue
        text = path.read_bytes().decode()
        again = io.StringIO(newline="")
        csv.writer(again, lineterminator="\n").writerows(csv.reader(io.StringIO(text, newline="")))
        assert again.getvalue() == text, path.name


def test_book_lists_are_literals_with_every_kind_of_quote(books: list[Row]) -> None:
    cells = [book["authors"] for book in books if book["authors"]]
    assert all(isinstance(name, str) for cell in cells for name in ast.literal_eval(cell))
    assert all(ast.literal_eval(book["categories"]) for book in books if book["categories"])
    assert any('"' in cell for cell in cells)
    assert any("', '" in cell for cell in cells)
    assert any("," in name for cell in cells for name in ast.literal_eval(cell))


def test_publication_dates_have_every_form(tmp_path: Path) -> None:
    generate("books", tmp_path, scale=0.02, only=["books"])
    forms = Counter(re.sub("[0-9]", "9", row["publishedDate"]) for row in read(tmp_path / "books_data.csv"))
    assert set(forms) == {"9999", "9999-99", "9999-99-99", "9999*", "99??", ""}


def test_titles_repeat_and_differ_by_case(books: list[Row]) -> None:
    titles = [book["Title"] for book in books]
    assert len(set(titles)) < len(titles)
    assert len({title.lower() for title in titles}) < len(set(titles))


def test_review_texts_have_the_quirks_of_real_ones(reviews: list[Row]) -> None:
    texts = [review["review/text"] for review in reviews]
    for mark in ('"', ",", "\n", "—", "“", "!!!", "&quot;", "😀", "n't", "not ", "BORING"):
        assert sum(mark in text for text in texts) >= 5, mark
    assert 450 < sorted(len(text.encode()) for text in texts)[len(texts) // 2] < 750
    assert max(len(text) for text in texts) > 10_000
    assert "" in texts
    assert any(review["review/score"] == "" for review in reviews)
    assert any(review["User_id"] == "" for review in reviews)
    assert all(re.fullmatch(r"[0-9]+/[0-9]+", review["review/helpfulness"]) for review in reviews)


def test_every_review_is_of_a_book(books: list[Row], reviews: list[Row]) -> None:
    assert {review["Title"] for review in reviews} <= {book["Title"] for book in books}


def test_books_queries_have_rows(books: list[Row], reviews: list[Row]) -> None:
    taking_part = complete(books)
    computers = [b for b in taking_part if "Computers" in ast.literal_eval(b["categories"])]
    assert sum("distributed" in b["Title"].lower() and 2000 <= year(b) <= 2023 for b in computers) >= 2
    decades = defaultdict(set)
    for book in taking_part:
        for author in ast.literal_eval(book["authors"]):
            decades[author].add(year(book) // 10)
    assert any(len(found) >= 10 for found in decades.values())
    fiction = {b["Title"] for b in taking_part if "Fiction" in ast.literal_eval(b["categories"])}
    assert len({review["Title"] for review in reviews} & fiction) >= 10


def test_1990s_titles_reach_the_threshold_and_tie(books: list[Row], reviews: list[Row]) -> None:
    of_the_1990s = {book["Title"] for book in complete(books) if year(book) // 10 == 199}
    counts = Counter(review["Title"] for review in reviews if review["Title"] in of_the_1990s)
    assert {499, 500} <= set(counts.values())
    reached = [title for title, count in counts.items() if count >= 500]
    assert len(reached) >= 3
    scores = {t: [float(r["review/score"]) for r in reviews if r["Title"] == t] for t in reached}
    means = [sum(given) / len(given) for given in scores.values()]
    assert len(set(means)) < len(means)


def test_movie_literals_parse_and_hold_none_true_and_quotes(data: Path, movies: list[Row]) -> None:
    whole = [movie for movie in movies if movie["id"].isdigit()]
    for column in ("genres", "production_companies", "production_countries", "spoken_languages"):
        assert all(isinstance(ast.literal_eval(movie[column]), list) for movie in whole)
    casts = [row["cast"] for row in read(data / "credits.csv")]
    people = [person for cast in casts for person in ast.literal_eval(cast)]
    assert any(person["profile_path"] is None for person in people)
    assert any(person.get("uncredited") is True for person in people)
    assert any("'" in person["name"] for person in people)
    assert any('"' in person["character"] for person in people)
    assert max(len(cast) for cast in casts) > 4_000


def test_movie_rows_have_the_quirks_of_real_ones(data: Path, movies: list[Row]) -> None:
    with (data / "movies_metadata.csv").open(encoding="utf-8", newline="") as file:
        assert any(len(record) < 24 for record in csv.reader(file))
    shifted = [movie for movie in movies if not movie["id"].isdigit()]
    assert shifted
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", m["id"]) and m["budget"].endswith(".jpg") for m in shifted)
    ids = Counter(movie["id"] for movie in movies)
    assert max(ids.values()) == 2
    assert all(movie["revenue"].endswith(".0") for movie in movies)
    assert any("\n" in movie["overview"] for movie in movies)


def test_movies_queries_have_rows(data: Path, movies: list[Row]) -> None:
    whole = [movie for movie in movies if movie["id"].isdigit() and movie["release_date"] and movie["overview"]]
    local = [m for m in whole if "Argentina" in countries(m) and m["release_date"] >= "2000"]
    assert sum("Spain" in countries(m) and m["release_date"] < "2010" for m in local) >= 2
    assert len({countries(m)[0] for m in whole if len(countries(m)) == 1 and int(m["budget"])}) >= 5
    rated = {row["movieId"] for row in read(data / "ratings.csv")}
    assert len({m["id"] for m in local} & rated) >= 3
    credited = {row["id"] for row in read(data / "credits.csv") if row["cast"] != "[]"}
    assert len({m["id"] for m in local} & credited) >= 4
    hits = [m for m in whole if m["original_language"] == "en" and "United States of America" in countries(m)]
    assert sum(m["release_date"] >= "2000" and int(m["budget"]) > 0 < float(m["revenue"]) for m in hits) >= 4


def test_ratings_are_by_user_and_in_half_stars(data: Path) -> None:
    rows = read(data / "ratings.csv")
    users = [int(row["userId"]) for row in rows]
    assert users == sorted(users)
    assert {row["rating"] for row in rows} == {f"{half / 2}" for half in range(1, 11)}


def test_airports_have_semicolons_a_mark_crlf_and_nulls(data: Path) -> None:
    raw = (data / "airports-codepublic.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbfAirport Code;Airport Name;")
    assert raw.count(b"\r\n") == raw.count(b"\n") == 1 + len(AIRPORTS)
    rows = [line.split(";") for line in raw.decode("utf-8-sig").split("\r\n")[1:-1]]
    assert all(len(row) == 11 for row in rows)
    assert {code for code, *_ in AIRPORTS[:ENDPOINTS]} <= {row[0] for row in rows}
    assert any(r"\N" in row for row in rows)


def test_airports_scale_and_some_have_no_coordinates(tmp_path: Path) -> None:
    generate("flights", tmp_path, only=["airports"])
    rows = (tmp_path / "airports-codepublic.csv").read_text(encoding="utf-8-sig").splitlines()[1:]
    assert len(rows) == len({row.split(";")[0] for row in rows}) == 9_187
    assert any(row.split(";")[5] == r"\N" for row in rows)


def test_flights_are_consistent(flights: list[Row]) -> None:
    for row in flights[:2000]:
        arrivals, departures = (row[f"segments{way}AirportCode"].split("||") for way in ("Arrival", "Departure"))
        assert departures[0] == row["startingAirport"]
        assert arrivals[-1] == row["destinationAirport"]
        assert arrivals[:-1] == departures[1:]
        assert {row[name].count("||") for name in row if name.startswith("segments")} == {len(arrivals) - 1}
        known = "None" not in row["segmentsDistance"] and row["totalTravelDistance"]
        if known:
            assert sum(map(int, row["segmentsDistance"].split("||"))) == int(row["totalTravelDistance"])
        ends = [int(row[f"segments{way}TimeEpochSeconds"].split("||")[-1]) for way in ("Arrival", "Departure")]
        assert ends[0] - ends[1] == int(row["segmentsDurationInSeconds"].split("||")[-1])


def test_flight_rows_have_the_quirks_of_real_ones(flights: list[Row]) -> None:
    durations = Counter(re.sub("[0-9]+", "9", row["travelDuration"]) for row in flights)
    assert {"PT9H9M", "PT9H", "PT9M", "P9DT9H9M"} <= set(durations)
    assert 0.05 < sum(row["totalTravelDistance"] == "" for row in flights) / len(flights) < 0.09
    assert len({row["legId"] for row in flights}) < len(flights)
    assert all(re.fullmatch(r"[0-9]+\.[0-9]{2}", row["totalFare"]) for row in flights)


def test_flights_queries_have_rows(flights: list[Row]) -> None:
    routes = {(row["startingAirport"], row["destinationAirport"]) for row in flights}
    assert (len(routes), len({origin for origin, _ in routes})) == (235, 16)
    stops = sum(row["segmentsArrivalAirportCode"].count("||") >= 3 for row in flights) / len(flights)
    assert 0.002 < stops < 0.004
    place = {code: number for number, (code, *_) in enumerate(AIRPORTS)}
    far = 0
    for row in flights:
        direct = miles(place[row["startingAirport"]], place[row["destinationAirport"]])
        far += int(row["totalTravelDistance"] or 0) > 4 * direct
    assert far >= 100


def test_coffee_has_every_folder_and_month(data: Path) -> None:
    months = [f"{y}{m:02d}" for y in (2023, 2024, 2025) for m in range(1, 13)][6:30]
    for table in ("transactions", "transaction_items", "users"):
        assert [path.name for path in sorted((data / table).iterdir())] == [f"{table}_{m}.csv" for m in months]
    assert (data / "payment_methods/payment_methods.csv").exists()
    assert (data / "vouchers/vouchers.csv").exists()


def test_sales_add_up(data: Path) -> None:
    sums: Counter[str] = Counter()
    for row in read(data / "transaction_items/transaction_items_202402.csv"):
        assert round(float(row["unit_price"]) * int(row["quantity"]), 2) == float(row["subtotal"])
        sums[row["transaction_id"]] += round(100 * float(row["subtotal"]))
    rows = read(data / "transactions/transactions_202402.csv")
    assert {r["transaction_id"]: round(100 * float(r["original_amount"])) for r in rows} == dict(sums)
    for row in rows:
        left = float(row["original_amount"]) - float(row["discount_applied"])
        assert round(left, 2) == float(row["final_amount"])


def test_sales_have_the_quirks_of_real_ones(sales: list[Row]) -> None:
    named = [row["user_id"] for row in sales if row["user_id"]]
    assert 0.4 < len(named) / len(sales) < 0.5
    assert all(re.fullmatch(r"[1-9][0-9]*\.0", user) for user in named)
    moments = [row["created_at"] for row in sales]
    assert moments != sorted(moments)
    times = {moment[11:] for moment in moments}
    assert {"05:59:59", "06:00:00", "23:00:00", "23:00:01"} <= times


def test_coffee_queries_have_rows_at_the_edges(data: Path, sales: list[Row]) -> None:
    recent = [row for row in sales if row["created_at"] >= "2024"]
    amounts = {row["final_amount"] for row in recent}
    assert {"74.5", "75.0", "75.5"} <= amounts
    edge = [row for row in recent if row["created_at"].endswith(("06:00:00", "23:00:00"))]
    assert any(float(row["final_amount"]) >= 75 for row in edge)
    assert max(row["created_at"] for row in sales) < "2025-07"
    users = {row["user_id"] for path in (data / "users").iterdir() for row in read(path)}
    strangers = {row["user_id"] for row in sales if row["user_id"]} - {f"{user}.0" for user in users}
    assert len(strangers) == 1
