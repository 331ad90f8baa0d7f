"""Small inputs for simulations: every query has rows, and every stage has work."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cauce.datasets import load
from cauce.lab.chaos.simulated_jobs import simulated_dataset
from cauce.plan import Dataset
from cauce.sql_frontend.dataset import NAME as SQL

Row = Mapping[str, object]

WORDS = ("great", "awful", "fine, but dull", "not good", "I love it!", "plain", "horrible and sad", "")


@dataclass(frozen=True)
class World:
    """The files of a dataset by name, small enough to be run thousands of times."""

    dataset: str
    files: Mapping[str, bytes]

    def write(self, folder: Path) -> None:
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@lru_cache(maxsize=64)
def world(dataset: str, seed: int) -> World:
    rng = random.Random(f"{dataset} {seed}")
    return World(dataset, _MAKERS[dataset](rng))


def _csv(dataset: Dataset, table: str, rows: Iterable[Row], rng: random.Random) -> bytes:
    """Rows under the headers that the dataset's queries use, with occasional malformed lines."""
    spec = next(each.spec for each in dataset.tables if each.spec.name == table)
    headers = list(dict.fromkeys(column.header for column in spec.columns.values()))
    out = io.StringIO()
    writer = csv.writer(out, delimiter=spec.delimiter, lineterminator="\n")
    writer.writerow(headers)
    for row in rows:
        writer.writerow([row.get(header, "") for header in headers])
        if rng.random() < 0.01:
            out.write("one cell too few\n" if rng.random() < 0.5 else 'a "broken" line,"x"y\n')
    return out.getvalue().encode()


def _shuffled(rows: list[Row], rng: random.Random) -> list[Row]:
    rng.shuffle(rows)
    return rows


def _books(rng: random.Random) -> dict[str, bytes]:
    dataset = load("books")
    titles = [f"Title {number}" for number in range(12)]
    books: list[Row] = []
    for number, title in enumerate(titles):
        year = 1990 + number if number < 8 else 2000 + number
        categories = ["Fiction"] if number % 2 else ["Computers"]
        name = f"Distributed {title}" if number > 9 else title
        books.append(
            {"Title": name, "authors": str([f"A{number % 3}"]), "publishedDate": year, "categories": str(categories)}
        )
    books += [
        {
            "Title": f"Old {decade}",
            "authors": "['Methuselah', \"O'Old\"]",
            "publishedDate": f"{decade}*",
            "categories": "['x']",
        }
        for decade in range(1850, 1960, 10)
    ]
    reviews: list[Row] = []
    for number, title in enumerate(titles):
        amount = (505, 500, 499)[number] if number < 3 else rng.randrange(4)
        reviews += [
            {
                "Title": title,
                "review/score": rng.choice(("1.0", "4.0", "5.0", "", "bad")),
                # Most texts are empty, so that scoring does not take all the time.
                "review/text": rng.choice(WORDS) if rng.random() < 0.05 else "",
            }
            for _ in range(amount)
        ]
    return {
        "books_data.csv": _csv(dataset, "books", _shuffled(books, rng), rng),
        "Books_rating.csv": _csv(dataset, "reviews", _shuffled(reviews, rng), rng),
    }


def _names(names: Sequence[str]) -> str:
    return str([{"id": place, "name": name} for place, name in enumerate(names)])


def _movies(rng: random.Random) -> dict[str, bytes]:
    dataset = load("movies")
    countries = ("Argentina", "Spain", "United States of America", "France", "Japan", "Chile", "Peru")
    movies: list[Row] = []
    for number in range(40):
        made_in = rng.sample(countries, rng.choice((1, 1, 2, 3)))
        if number < 6:
            made_in = ["Argentina", "Spain"]
        american = 6 <= number < 12
        if american:
            made_in = ["United States of America"]
        movies.append(
            {
                "id": number,
                "title": f"Film {number % 35}",
                "genres": _names(rng.sample(("Drama", "Crime", "Comedy"), 2)),
                "release_date": f"{rng.randrange(2000 if american else 1998, 2012)}-03-0{rng.randrange(1, 9)}",
                "overview": (rng.choice(WORDS) or "x") if number != 7 else "great",
                "production_countries": _names(made_in),
                "spoken_languages": "[]",
                "original_language": "en" if american else rng.choice(("en", "es")),
                "budget": 9 if american else rng.choice((0, 10, 300, 7, "img.jpg")),
                "revenue": "7.0" if american else rng.choice(("0", "20.0", "33.0", "500.0")),
            }
        )
    ratings: list[Row] = [
        {"movieId": rng.randrange(45), "rating": rng.choice(("1.0", "2.5", "5.0"))} for _ in range(200)
    ]
    cast: list[Row] = [
        {"id": number % 40, "cast": _names([f"Actor {rng.randrange(15)}" for _ in range(rng.randrange(5))])}
        for number in range(50)
    ]
    return {
        "movies_metadata.csv": _csv(dataset, "movies", movies, rng),
        "ratings.csv": _csv(dataset, "ratings", ratings, rng),
        "credits.csv": _csv(dataset, "credits", cast, rng),
    }


def _flights(rng: random.Random) -> dict[str, bytes]:
    dataset = load("flights")
    places = {"AAA": (40.0, -70.0), "BBB": (34.0, -118.5), "CCC": (25.5, -80.0), "DDD": (47.25, -122.0)}
    airports: list[Row] = [
        {"Airport Code": code, "Latitude": latitude, "Longitude": longitude}
        for code, (latitude, longitude) in places.items()
    ]
    airports.append({"Airport Code": "EEE", "Latitude": "\\N", "Longitude": "\\N"})
    flights: list[Row] = []
    for _ in range(120):
        start, end = rng.sample([*places, "EEE"], 2)
        stops = [f"S{rng.randrange(9)}" for _ in range(rng.choice((0, 1, 3, 4)))]
        flights.append(
            {
                "legId": f"leg{rng.randrange(200)}",
                "searchDate": "2022-04-16",
                "flightDate": f"2022-05-{rng.randrange(10, 30)}",
                "startingAirport": start,
                "destinationAirport": end,
                "travelDuration": rng.choice(("PT9H9M", "P1DT2H", "PT45M", "")),
                "baseFare": rng.choice(("10.00", "20.50", "31.25")),
                "totalFare": rng.choice(("12.00", "25.50", "40.10", "bad")),
                "totalTravelDistance": rng.choice(("", "900", "25000", "1200.50")),
                "segmentsArrivalAirportCode": "||".join([*stops, end]),
            }
        )
    return {
        "airports-codepublic.csv": _csv(dataset, "airports", airports, rng),
        "itineraries.csv": _csv(dataset, "flights", flights, rng),
    }


def _coffee(rng: random.Random) -> dict[str, bytes]:
    dataset = load("coffee")
    stores: list[Row] = [{"store_id": number, "store_name": f"Store {number}"} for number in range(1, 4)]
    items: list[Row] = [{"item_id": number, "item_name": f"Item {number}"} for number in range(1, 6)]
    users: list[Row] = [{"user_id": number, "birthdate": f"19{60 + number}-01-02"} for number in range(1, 20)]
    files = {
        "stores/stores.csv": _csv(dataset, "stores", stores, rng),
        "menu_items/menu_items.csv": _csv(dataset, "menu_items", items, rng),
        "users/users_202301.csv": _csv(dataset, "users", users[:10], rng),
        "users/users_202302.csv": _csv(dataset, "users", users[10:], rng),
    }
    for month in ("202401", "202407", "202503"):
        stamp = f"{month[:4]}-{month[4:]}-1{rng.randrange(10)}"
        sales: list[Row] = [
            {
                "transaction_id": f"t{month}-{number}",
                "store_id": rng.randrange(1, 5),
                "user_id": rng.choice(("", "", f"{rng.randrange(1, 25)}.0")),
                "final_amount": rng.choice(("75.0", "74.99", "80.125", "10")),
                "created_at": f"{stamp} {rng.choice(('06:00:00', '23:00:00', '05:59:59', '12:30:00'))}",
            }
            for number in range(70)
        ]
        sold: list[Row] = [
            {
                "item_id": rng.randrange(1, 7),
                "quantity": rng.randrange(1, 4),
                "subtotal": rng.choice(("8.0", "9.5", "10")),
                "created_at": f"{stamp} 10:00:00",
            }
            for _ in range(90)
        ]
        files[f"transactions/transactions_{month}.csv"] = _csv(dataset, "transactions", sales, rng)
        files[f"transaction_items/transaction_items_{month}.csv"] = _csv(dataset, "transaction_items", sold, rng)
    return files


def _shop(rng: random.Random) -> dict[str, bytes]:
    dataset = simulated_dataset(SQL)
    wares = ("pen", "ink", "pad", "cup", "ñu", "")
    items: list[Row] = [
        {"item": item, "price": rng.choice(("1.50", "12.00", "7.25", "")), "weight": rng.choice(("0.5", "2", ""))}
        for item in (*wares, "map")
    ]
    customers: list[Row] = [
        {
            "customer": number,
            "name": f"N{'a' * (number % 4)}{number}",
            "city": rng.choice(("Lima", "Rome", "Oslo", "")),
            "vip": rng.choice(("true", "false", "")),
        }
        for number in range(12)
    ]
    orders: list[Row] = [
        {
            "id": number,
            "customer": rng.choice(("", rng.randrange(10), rng.randrange(14))),
            "item": rng.choice(wares),
            "qty": rng.choice((1, 1, 2, 3, 5, "")),
            "paid": rng.choice(("3.10", "12.00", "20.05", "45.99", "")),
            "day": rng.choice(("", f"2024-0{rng.randrange(1, 4)}-{rng.randrange(10, 29)}")),
        }
        for number in range(90)
    ]
    return {
        "orders/orders_1.csv": _csv(dataset, "orders", _shuffled(orders[:50], rng), rng),
        "orders/orders_2.csv": _csv(dataset, "orders", _shuffled(orders[50:], rng), rng),
        "customers.csv": _csv(dataset, "customers", customers, rng),
        "items.csv": _csv(dataset, "items", items, rng),
    }


_MAKERS = {"books": _books, "movies": _movies, "flights": _flights, "coffee": _coffee, SQL: _shop}
