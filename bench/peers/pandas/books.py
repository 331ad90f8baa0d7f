"""The books queries in pandas: of the reviews, only those of the requested titles are kept."""

from __future__ import annotations

import pandas as pd

from bench.peers.literals import texts
from bench.peers.pandas.session import chunks, read, scored, write
from bench.peers.task import Task

BOOKS = {
    "title": "Title",
    "authors": "authors",
    "publisher": "publisher",
    "published": "publishedDate",
    "categories": "categories",
}


def answer(task: Task) -> None:
    books = read_books(task)
    of_nineties = nineties(books)
    rated, texts = _reviews(task, of_nineties["title"], fiction(books))
    write(
        task,
        {
            "q1": lambda: distributed(books),
            "q2": lambda: long_lived(books),
            "q3": lambda: popular(rated.groupby("title").size(), of_nineties),
            "q4": lambda: best_rated(rated.groupby("title")["score"].agg(["size", "mean"])),
            "q5": lambda: best_liked(
                texts.assign(units=scored(texts["text"], task)).groupby("title")["units"].agg(["sum", "size"])
            ),
        },
    )


def read_books(task: Task) -> pd.DataFrame:
    """The books that satisfy the filters, with their years."""
    books = read(task.file("books_data.csv"), BOOKS, {})
    books = books.dropna(subset=["title", "authors", "categories", "published"])
    return books.assign(year=pd.to_numeric(books["published"].str.extract("([0-9]{4})", expand=False)))


def nineties(books: pd.DataFrame) -> pd.DataFrame:
    return books[books["year"].between(1990, 1999)].drop_duplicates("title")


def fiction(books: pd.DataFrame) -> pd.Series:
    return books.loc[_of_category(books, "fiction"), "title"].drop_duplicates()


def _of_category(books: pd.DataFrame, name: str) -> pd.Series:
    # There are few different cells: each is parsed once.
    known = {cell: name in (each.lower() for each in texts(cell)) for cell in books["categories"].unique()}
    return books["categories"].map(known).astype(bool)


def _reviews(task: Task, nineties: pd.Series, fiction: pd.Series) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Titles and scores of reviews of the 1990s' books, and titles and texts of those of fiction."""
    columns = {"title": "Title"}
    if task.asks("q4"):
        columns["score"] = "review/score"
    if task.asks("q5"):
        columns["text"] = "review/text"
    if not task.asks("q3", "q4", "q5"):
        return pd.DataFrame(), pd.DataFrame()
    rated, texts = [], []
    for chunk in chunks(task.file("Books_rating.csv"), columns, {"score": "float64"}):
        rated.append(chunk.loc[chunk["title"].isin(nineties), chunk.columns != "text"])
        if task.asks("q5"):
            texts.append(chunk.loc[chunk["title"].isin(fiction) & chunk["text"].notna(), ["title", "text"]])
    return pd.concat(rated), pd.concat(texts) if texts else pd.DataFrame()


def distributed(books: pd.DataFrame) -> pd.DataFrame:
    found = books[
        books["year"].between(2000, 2023)
        & books["title"].str.lower().str.contains("distributed", regex=False)
        & _of_category(books, "computers")
    ]
    return found.assign(authors=found["authors"].map(_joined))[["title", "authors", "publisher"]]


def _joined(literal: str) -> str:
    return "; ".join(texts(literal))


def long_lived(books: pd.DataFrame) -> pd.DataFrame:
    dated = books[books["year"].notna()]
    pairs = pd.DataFrame({"author": dated["authors"].map(texts), "decade": dated["year"] // 10}).explode("author")
    decades = pairs.drop_duplicates().groupby("author").size()
    return decades[decades >= 10].rename("decades").reset_index().sort_values("author")


def popular(counts: pd.Series, nineties: pd.DataFrame) -> pd.DataFrame:
    found = counts[counts >= 500].rename("reviews").reset_index().merge(nineties, on="title").sort_values("title")
    return found.assign(authors=found["authors"].map(_joined))[["title", "authors", "reviews"]]


def best_rated(scores: pd.DataFrame) -> pd.DataFrame:
    """Of number and mean of each title's scores."""
    found = scores[(scores["size"] >= 500) & scores["mean"].notna()].reset_index()
    best = found.sort_values(["mean", "title"], ascending=[False, True]).head(10)
    return best.rename(columns={"mean": "rating"})[["title", "rating"]]


def best_liked(units: pd.DataFrame) -> pd.DataFrame:
    """Of number and sum of each title's sentiments."""
    means = (units["sum"] / (10_000 * units["size"])).rename("sentiment").reset_index()
    best = means[means["sentiment"] >= means["sentiment"].quantile(0.9)]
    return best.sort_values(["sentiment", "title"], ascending=[False, True])
