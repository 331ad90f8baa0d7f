"""The four coffee queries on rows small enough to answer by hand."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.api import answer
from tests.oracle.writing import lines, write

NOON = "2024-01-01 12:00:00"


def paid(id_: str, amount: str, at: str = NOON, store: str = "", user: str = "") -> dict[str, str]:
    return {
        "transaction_id": id_,
        "final_amount": amount,
        "created_at": at,
        "store_id": store,
        "user_id": user,
    }


def sold(item: str, quantity: str, subtotal: str, at: str = NOON) -> dict[str, str]:
    return {"item_id": item, "quantity": quantity, "subtotal": subtotal, "created_at": at}


def stores(data: Path, *rows: tuple[str, str]) -> None:
    write(data / "stores/stores.csv", *({"store_id": id_, "store_name": name} for id_, name in rows))


def test_q1_reads_the_months_in_order_and_tests_year_hour_and_amount(tmp_path: Path) -> None:
    write(tmp_path / "transactions_202402.csv", paid("second", "75.005"), paid("", "80"))
    write(
        tmp_path / "transactions/transactions_202401.csv",
        paid("first", "75.0", "2025-12-31 23:00:00"),
        paid("opening", "75.015", "2024-01-01 06:00:00"),
        paid("too cheap", "74.999999999999999999"),
        paid("too early", "80", "2024-01-01 05:59:59"),
        paid("too late", "80", "2024-01-01 23:00:01"),
        paid("too old", "80", "2023-12-31 12:00:00"),
        paid("too new", "80", "2026-01-01 12:00:00"),
        paid("free", ""),
        paid("timeless", "80", ""),
        paid("bad time", "80", "12:00"),
        paid("bad store", "80", store="x"),
    )
    assert answer("coffee", tmp_path, ["q1"]) == {
        "q1": lines(
            "transaction_id,final_amount",
            "first,75.00",
            "opening,75.02",
            "bad store,80.00",
            "second,75.00",
            ",80.00",
        ),
        "rejects": lines(
            "file,line,column,reason,raw",
            "transactions/transactions_202401.csv,11,created_at,not a time (YYYY-MM-DD HH:MM:SS),12:00",
        ),
    }


def test_q2_finds_the_leaders_of_each_month(tmp_path: Path) -> None:
    write(
        tmp_path / "menu_items/menu_items.csv",
        {"item_id": "1", "item_name": "Latte, hot"},
        {"item_id": "1.0", "item_name": "never"},
        {"item_id": "2"},
    )
    write(
        tmp_path / "transaction_items/transaction_items_202401.csv",
        sold("10", "3", "1"),
        sold("1", "1", "2.5", "2024-01-31 23:59:59"),
        sold("1.0", "2", ""),
        sold("2", "", "2.50"),
        sold("9", "1", "9.99", "2024-02-01 00:00:00"),
        sold("9", "", "0.01", "2024-02-01 00:00:00"),
        sold("2", "5", "5", "2023-02-01 00:00:00"),
        sold("", "5", "5"),
        sold("2", "5", "5", ""),
        sold("2", "1.5", "900"),
        sold("2", "", "-1", "2025-03-01 00:00:00"),
    )
    assert answer("coffee", tmp_path, ["q2"]) == {
        "q2": lines(
            "month,ranking,item_name,quantity,profit",
            '2024-01,quantity,"Latte, hot",3,2.50',
            '2024-01,profit,"Latte, hot",3,2.50',
            "2024-02,quantity,9,1,10.00",
            "2024-02,profit,9,1,10.00",
            "2025-03,profit,,0,-1.00",
        ),
        "rejects": lines(
            "file,line,column,reason,raw",
            "transaction_items/transaction_items_202401.csv,11,quantity,not an integer,1.5",
        ),
    }


def test_q3_sums_the_payments_of_each_semester_and_store(tmp_path: Path) -> None:
    stores(tmp_path, ("1", "Twin"), ("2", "Twin"), ("3", ""), ("1", "Second row"))
    write(
        tmp_path / "transactions/transactions_202401.csv",
        paid("", "0.1", "2024-06-30 23:00:00", "1"),
        paid("", "0.2", "2024-01-01 06:00:00", "1.0"),
        paid("", "5", "2024-07-01 06:00:00", "1"),
        paid("", "10", "2024-07-01 06:00:00", "2"),
        paid("", "1.005", "2025-12-31 06:00:00", "3"),
        paid("", "1.015", "2025-12-31 06:00:00", "44"),
        paid("", "1", "2025-12-31 05:59:59", "3"),
        paid("", "1"),
        paid("", "", store="2"),
        paid("", "1", store="2 bis"),
        paid("", "1", "2023-12-31 06:00:00", "2"),
    )
    assert answer("coffee", tmp_path, ["q3"]) == {
        "q3": lines(
            "semester,store_name,tpv",
            "2024-H1,Twin,0.30",
            "2024-H2,Twin,5.00",
            "2024-H2,Twin,10.00",
            "2025-H2,44,1.02",
            "2025-H2,,1.00",
        ),
        "rejects": lines(
            "file,line,column,reason,raw",
            "transactions/transactions_202401.csv,11,store_id,not an integer id,2 bis",
        ),
    }


def test_q4_finds_the_three_best_customers_of_each_store(tmp_path: Path) -> None:
    stores(tmp_path, ("1", "B"), ("2", "A"))
    write(tmp_path / "users/users_202307.csv", {"user_id": "20", "birthdate": "1990-02-28"})
    write(
        tmp_path / "users/users_202308.csv",
        {"user_id": "20", "birthdate": "2000-01-01"},
        {"user_id": "9"},
        {"user_id": "9", "birthdate": "2000-01-01"},
        {"user_id": "30", "birthdate": "1990-02-30"},
        {"user_id": "30", "birthdate": "1990-03-01"},
    )
    users = ["20.0", "20", "100", "9", "30", "101", ""]
    write(
        tmp_path / "transactions/transactions_202401.csv",
        *(paid("", "", "2024-01-01 03:00:00", "1", user) for user in users),
        paid("", "", "2023-01-01 12:00:00", "1", "101"),
        paid("", "", NOON, "2", "7"),
        paid("", "", NOON, "", "7"),
        paid("", "", NOON, "2", "guest"),
        paid("", "?", NOON, "3", "7"),
    )
    assert answer("coffee", tmp_path, ["q4"]) == {
        "q4": lines(
            "store_name,user_id,birthdate,purchases",
            "3,7,,1",
            "A,7,,1",
            "B,20,1990-02-28,2",
            "B,9,,1",
            "B,30,1990-03-01,1",
        ),
        "rejects": lines(
            "file,line,column,reason,raw",
            "transactions/transactions_202401.csv,12,user_id,not an integer id,guest",
            "users/users_202308.csv,5,birthdate,not a date (YYYY-MM-DD),1990-02-30",
        ),
    }
