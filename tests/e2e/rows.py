"""Rows for small inputs: each function names the cells that matter and fills the others with harmless values."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.oracle.writing import write

Row = dict[str, str]

USA = "United States of America"
NOON = "2024-01-01 12:00:00"
FAR = "B||C||D||Z"
"""The arrivals of a flight with three stopovers."""


def book(title: str, date: str = "1995", authors: str = "['A']", categories: str = "['X']", publisher: str = "") -> Row:
    return {
        "Title": title,
        "publishedDate": date,
        "authors": authors,
        "categories": categories,
        "publisher": publisher,
    }


def review(title: str, score: str = "", text: str = "") -> Row:
    return {"Title": title, "review/score": score, "review/text": text}


def books_folder(data: Path, books: Iterable[Row] = (), reviews: Iterable[Row] = ()) -> None:
    write(data / "books_data.csv", *books)
    write(data / "Books_rating.csv", *reviews)


def names(*values: str) -> str:
    return repr([{"id": 1, "name": value} for value in values])


def movie(id_: str, title: str = "T", *countries: str, **cells: str) -> Row:
    return {
        "id": id_,
        "title": title,
        "genres": "[]",
        "release_date": "2005-06-07",
        "overview": "It is.",
        "production_countries": names(*countries),
        "spoken_languages": "[]",
        "budget": "0",
        "revenue": "0",
        "original_language": "en",
    } | cells


def argentine(id_: str, title: str = "T", **cells: str) -> Row:
    return movie(id_, title, "Argentina", **cells)


def american(id_: str, budget: str, revenue: str, overview: str, **cells: str) -> Row:
    return movie(id_, "T", USA, budget=budget, revenue=revenue, overview=overview, **cells)


def rating(id_: str, stars: str) -> Row:
    return {"userId": "1", "movieId": id_, "rating": stars, "timestamp": "1"}


def credit(id_: str, *actors: str) -> Row:
    return {"cast": names(*actors), "crew": "[]", "id": id_}


def movies_folder(
    data: Path, movies: Iterable[Row] = (), ratings: Iterable[Row] = (), credits_: Iterable[Row] = ()
) -> None:
    write(data / "movies_metadata.csv", *movies)
    write(data / "ratings.csv", *ratings)
    write(data / "credits.csv", *credits_)


def flight(leg: str, origin: str = "A", destination: str = "Z", **cells: str) -> Row:
    return {"legId": leg, "startingAirport": origin, "destinationAirport": destination} | cells


def slow_flight(leg: str, duration: str, day: str = "", seen: str = "", arrivals: str = FAR, **cells: str) -> Row:
    return flight(
        leg, travelDuration=duration, flightDate=day, searchDate=seen, segmentsArrivalAirportCode=arrivals, **cells
    )


def airport(code: str, latitude: str, longitude: str) -> Row:
    return {"Airport Code": code, "Latitude": latitude, "Longitude": longitude}


def flights_folder(data: Path, flights: Iterable[Row] = (), airports: Iterable[Row] = ()) -> None:
    write(data / "itineraries.csv", *flights)
    write(data / "airports-codepublic.csv", *airports)


def paid(id_: str = "", amount: str = "1", at: str = NOON, store: str = "1", user: str = "") -> Row:
    return {"transaction_id": id_, "final_amount": amount, "created_at": at, "store_id": store, "user_id": user}


def sold(item: str, quantity: str = "1", subtotal: str = "1", at: str = NOON) -> Row:
    return {"item_id": item, "quantity": quantity, "subtotal": subtotal, "created_at": at}


def store(id_: str, name: str) -> Row:
    return {"store_id": id_, "store_name": name}


def item(id_: str, name: str) -> Row:
    return {"item_id": id_, "item_name": name}


def user(id_: str, born: str) -> Row:
    return {"user_id": id_, "birthdate": born}


def coffee_folder(
    data: Path,
    transactions: Iterable[Row] = (),
    items_sold: Iterable[Row] = (),
    stores: Iterable[Row] = (),
    items: Iterable[Row] = (),
    users: Iterable[Row] = (),
) -> None:
    write(data / "transactions/transactions_202401.csv", *transactions)
    write(data / "transaction_items/transaction_items_202401.csv", *items_sold)
    write(data / "stores/stores.csv", *stores)
    write(data / "menu_items/menu_items.csv", *items)
    write(data / "users/users_202401.csv", *users)


def empty_folder(dataset: str, data: Path) -> None:
    """Every table of a dataset as its header alone."""
    {"books": books_folder, "movies": movies_folder, "flights": flights_folder, "coffee": coffee_folder}[dataset](data)


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    """Puts bytes into a file that no CSV writer would write."""
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))


def append(path: Path, raw: bytes) -> None:
    path.write_bytes(path.read_bytes() + raw)
