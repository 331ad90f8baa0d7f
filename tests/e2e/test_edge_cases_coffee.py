"""Coffee: edge cases of the query rules on small inputs."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from tests.e2e.comparing import compare
from tests.e2e.rows import append, coffee_folder, empty_folder, item, paid, rewrite, sold, store, user
from tests.oracle.writing import lines, write

pytestmark = pytest.mark.slow

Q1 = "transaction_id,final_amount"
Q2 = "month,ranking,item_name,quantity,profit"
Q3 = "semester,store_name,tpv"
Q4 = "store_name,user_id,birthdate,purchases"
REJECTS = "file,line,column,reason,raw"


def test_empty_tables_give_headers(tmp_path: Path) -> None:
    empty_folder("coffee", tmp_path)
    assert compare("coffee", tmp_path) == {"q1": lines(Q1), "q2": lines(Q2), "q3": lines(Q3), "q4": lines(Q4)}


def test_one_row_of_each_table(tmp_path: Path) -> None:
    coffee_folder(
        tmp_path,
        [paid("t", "80", user="7")],
        [sold("3", "2", "9.5")],
        [store("1", "Centre")],
        [item("3", "Latte")],
        [user("7", "2000-02-29")],
    )
    assert compare("coffee", tmp_path) == {
        "q1": lines(Q1, "t,80.00"),
        "q2": lines(Q2, "2024-01,quantity,Latte,2,9.50", "2024-01,profit,Latte,2,9.50"),
        "q3": lines(Q3, "2024-H1,Centre,80.00"),
        "q4": lines(Q4, "Centre,7,2000-02-29,1"),
    }


def test_all_rows_rejected(tmp_path: Path) -> None:
    empty_folder("coffee", tmp_path)
    for path in tmp_path.rglob("*.csv"):
        append(path, b'"\n' + b"x\n")
    found = compare("coffee", tmp_path)
    assert found["rejects"].count(b"\n") == 11
    assert found["q2"] == lines(Q2)


def test_q1_opens_at_six_and_closes_at_twenty_three(tmp_path: Path) -> None:
    taken = ["2024-01-01 06:00:00", "2024-02-29 23:00:00", "2025-12-31 22:59:59", "2024-06-30 06:00:01"]
    others = ["2024-01-01 05:59:59", "2024-01-01 23:00:01", "2024-01-01 00:00:00", "2024-01-01 23:59:59"]
    others += ["2023-12-31 23:00:00", "2026-01-01 06:00:00", ""]
    coffee_folder(tmp_path, [paid(at, "80", at) for at in taken + others])
    found = compare("coffee", tmp_path, ["q1", "q3"])
    assert found["q1"] == lines(Q1, *(f"{at},80.00" for at in taken))
    assert "rejects" not in found


def test_invalid_times_are_rejected(tmp_path: Path) -> None:
    bad = [
        "2024-02-30 12:00:00",
        "2025-02-29 12:00:00",
        "2024-01-01 24:00:00",
        "2024-01-01 12:60:00",
        "2024-01-01 12:00:60",
        "2024-01-01T12:00:00",
        "2024-01-01",
        "2024-01-01 12:00",
        "2024-01-01 12:00:00.5",
        "2024-1-1 12:00:00",
        " 2024-01-01 12:00:00",
        "0000-01-01 12:00:00",
        "٢٠٢٤-01-01 12:00:00",
    ]
    coffee_folder(tmp_path, [paid("t", "80", at, user="1") for at in bad], [sold("1", at=at) for at in bad])
    found = compare("coffee", tmp_path)
    assert found["q1"] == lines(Q1)
    assert found["rejects"].count(b",created_at,not a time") == 2 * len(bad)


def test_q1_starts_at_75_exactly(tmp_path: Path) -> None:
    taken = ["75", "75.0", "+75", "75.00000000000000001", "75.000000000000000001", "0075", "75."]
    others = ["74.99", "74.999999999999999999", "-75", "", "0", "7.5e1", "75,0", " 75", "٧٥"]
    coffee_folder(tmp_path, [paid(amount, amount) for amount in taken + others])
    found = compare("coffee", tmp_path, ["q1"])
    assert found["q1"] == lines(Q1, *(f"{amount},75.00" for amount in taken))
    assert found["rejects"].count(b"\n") == 5


def test_amounts_are_rounded_half_to_even_at_the_third_decimal(tmp_path: Path) -> None:
    amounts = ["75.005", "75.015", "75.025", "75.0050000000000001", "75.995", "75.994999999999999999", "99999.995"]
    coffee_folder(tmp_path, [paid("t", amount) for amount in amounts])
    assert compare("coffee", tmp_path, ["q1"])["q1"] == lines(
        Q1, *(f"t,{shown}" for shown in ("75.00", "75.02", "75.02", "75.01", "76.00", "75.99", "100000.00"))
    )


def test_q3_rounds_once_after_the_exact_sum(tmp_path: Path) -> None:
    coffee_folder(
        tmp_path,
        [paid(amount=amount) for amount in ["0.1"] * 10 + ["0.2", "0.005"]]
        + [paid(amount="-0.004", store="2"), paid(amount="-1.005", store="3"), paid(amount="-1.015", store="4")]
        + [paid(amount=amount, store="5") for amount in ("10000000000000000", "0.01", "-10000000000000000")],
    )
    assert compare("coffee", tmp_path, ["q3"])["q3"] == lines(
        Q3, "2024-H1,1,1.20", "2024-H1,2,0.00", "2024-H1,3,-1.00", "2024-H1,4,-1.02", "2024-H1,5,0.01"
    )


def test_q3_second_semester_starts_on_the_first_of_july(tmp_path: Path) -> None:
    times = ["2024-01-01 06:00:00", "2024-06-30 23:00:00", "2024-07-01 06:00:00", "2025-06-30 22:00:00"]
    times += ["2025-12-31 23:00:00", "2023-12-31 12:00:00", "2026-01-01 06:00:00"]
    coffee_folder(tmp_path, [paid(at=at) for at in times])
    assert compare("coffee", tmp_path, ["q3"])["q3"] == lines(
        Q3, "2024-H1,1,2.00", "2024-H2,1,1.00", "2025-H1,1,1.00", "2025-H2,1,1.00"
    )


def test_q3_groups_by_store_and_shows_names(tmp_path: Path) -> None:
    coffee_folder(
        tmp_path,
        [paid(amount=str(2**place), store=id_) for place, id_ in enumerate(["1", "1.0", "2", "3", "10", "+1", ""])],
        stores=[store("1.0", "B"), store("1", "second row"), store("2", ""), store("3", "é"), store("", "none")],
    )
    assert compare("coffee", tmp_path, ["q3"])["q3"] == lines(
        Q3, "2024-H1,10,16.00", "2024-H1,B,35.00", "2024-H1,é,8.00", "2024-H1,,4.00"
    )


@pytest.mark.parametrize("amounts", list(permutations(["30", "100", "9"])))
def test_q3_has_one_order_for_stores_of_one_name(tmp_path: Path, amounts: tuple[str, ...]) -> None:
    stores = [store(str(id_), "Twin") for id_ in range(1, 4)]
    coffee_folder(tmp_path, [paid(amount=a, store=str(i)) for i, a in enumerate(amounts, start=1)], stores=stores)
    assert compare("coffee", tmp_path, ["q3"])["q3"] == lines(
        Q3, "2024-H1,Twin,9.00", "2024-H1,Twin,30.00", "2024-H1,Twin,100.00"
    )


@pytest.mark.parametrize("order", list(permutations(["10", "9.0", "100"])))
def test_q2_breaks_ties_by_item_id(tmp_path: Path, order: tuple[str, ...]) -> None:
    coffee_folder(tmp_path, [], [sold(id_, "2", "2.50") for id_ in order], items=[item("9", "Mocha")])
    assert compare("coffee", tmp_path, ["q2"])["q2"] == lines(
        Q2, "2024-01,quantity,Mocha,2,2.50", "2024-01,profit,Mocha,2,2.50"
    )


def test_q2_has_a_leader_of_each_kind_for_each_month(tmp_path: Path) -> None:
    coffee_folder(
        tmp_path,
        [],
        [
            sold("1", "5", "1", "2024-12-31 23:59:59"),
            sold("2", "1", "9.999", "2024-12-01 00:00:00"),
            sold("1", "1", "1", "2025-01-01 00:00:00"),
            sold("2", "9", "9", "2023-12-31 23:59:59"),
            sold("2", "9", "9", "2026-01-01 00:00:00"),
        ],
        items=[item("1", "One"), item("2", "Two"), item("1", "Uno")],
    )
    assert compare("coffee", tmp_path, ["q2"])["q2"] == lines(
        Q2,
        "2024-12,quantity,One,5,1.00",
        "2024-12,profit,Two,1,10.00",
        "2025-01,quantity,One,1,1.00",
        "2025-01,profit,One,1,1.00",
    )


def test_q2_excludes_items_without_quantity_from_that_ranking(tmp_path: Path) -> None:
    coffee_folder(tmp_path, [], [sold("1", "-1", ""), sold("2", "", "-2")])
    assert compare("coffee", tmp_path, ["q2"])["q2"] == lines(
        Q2, "2024-01,quantity,1,-1,0.00", "2024-01,profit,2,0,-2.00"
    )


def test_q2_has_no_leader_where_nothing_has_a_quantity(tmp_path: Path) -> None:
    coffee_folder(tmp_path, [], [sold("1", "", "2"), sold("", "5", "5"), sold("1", "", "")])
    assert compare("coffee", tmp_path, ["q2"])["q2"] == lines(Q2, "2024-01,profit,1,0,2.00")


def test_q2_shows_an_item_without_its_row_or_its_name(tmp_path: Path) -> None:
    coffee_folder(tmp_path, [], [sold("7.0", "2", "1"), sold("8", "1", "2")], items=[item("8", "")])
    assert compare("coffee", tmp_path, ["q2"])["q2"] == lines(Q2, "2024-01,quantity,7,2,1.00", "2024-01,profit,,1,2.00")


def test_q2_requires_integer_quantities(tmp_path: Path) -> None:
    quantities = ["1.0", "1.5", "x", "1e1", " 1", "+1", "01", "9223372036854775808"]
    coffee_folder(tmp_path, [], [sold("1", quantity) for quantity in quantities])
    found = compare("coffee", tmp_path, ["q2"])
    assert found["q2"] == lines(Q2, "2024-01,quantity,1,2,2.00", "2024-01,profit,1,2,2.00")
    assert found["rejects"].count(b",quantity,not an integer,") == 6


@pytest.mark.parametrize("order", list(permutations(["20", "9", "100.0", "3"])))
def test_q4_breaks_a_tie_at_the_third_place_by_user(tmp_path: Path, order: tuple[str, ...]) -> None:
    coffee_folder(tmp_path, [paid(user=id_) for id_ in order])
    assert compare("coffee", tmp_path, ["q4"])["q4"] == lines(Q4, "1,3,,1", "1,9,,1", "1,20,,1")


def test_q4_counts_rows_of_two_years_at_any_hour_and_amount(tmp_path: Path) -> None:
    coffee_folder(
        tmp_path,
        [
            paid("same", "", "2024-01-01 00:00:00", user="5"),
            paid("same", "-1", "2025-12-31 23:59:59", user="5.0"),
            paid("t", "x", user="5"),
            paid(at="2023-12-31 23:59:59", user="5"),
            paid(at="2026-01-01 00:00:00", user="5"),
            paid(at="", user="5"),
            paid(user=""),
            paid(store="", user="5"),
            paid(user="guest"),
            paid(user="5.5"),
        ],
    )
    found = compare("coffee", tmp_path, ["q4"])
    assert found["q4"] == lines(Q4, "1,5,,3")
    assert found["rejects"].count(b"user_id,not an integer id") == 2


def test_q4_uses_the_first_readable_row_of_a_user(tmp_path: Path) -> None:
    users = [
        user("1.0", "1990-01-01"),
        user("1", "1991-01-01"),
        user("2", ""),
        user("2", "1992-01-01"),
        user("3", "1993-02-30"),
        user("3", "1993-03-01"),
        user("", "1994-01-01"),
    ]
    coffee_folder(tmp_path, [paid(user=id_) for id_ in "123"], users=users)
    found = compare("coffee", tmp_path, ["q4"])
    assert found["q4"] == lines(Q4, "1,1,1990-01-01,1", "1,2,,1", "1,3,1993-03-01,1")
    assert found["rejects"] == lines(REJECTS, "users/users_202401.csv,6,birthdate,not a date (YYYY-MM-DD),1993-02-30")


def test_q4_orders_stores_of_one_name_together(tmp_path: Path) -> None:
    coffee_folder(
        tmp_path,
        [paid(store=s, user=u) for s, u in ["15", "25", "25", "16", "27", "35"]],
        stores=[store("1", "Twin"), store("2", "Twin"), store("3", "")],
        users=[user("5", "1990-01-01")],
    )
    assert compare("coffee", tmp_path, ["q4"])["q4"] == lines(
        Q4, "Twin,5,1990-01-01,2", "Twin,5,1990-01-01,1", "Twin,6,,1", "Twin,7,,1", ",5,1990-01-01,1"
    )


def test_names_are_ordered_by_code_point_with_nulls_last(tmp_path: Path) -> None:
    shown = ["b", "B", "\U0001f600", "\uffee", "é", "e\u0301", "a,b", 'say "hi"', "two\nlines", ""]
    ids = [str(number) for number in range(1, len(shown) + 1)]
    coffee_folder(
        tmp_path,
        [paid(store=id_, user="1") for id_ in [*ids, "99"]],
        stores=[store(id_, name) for id_, name in zip(ids, shown, strict=True)],
    )
    compare("coffee", tmp_path, ["q3", "q4"])


@pytest.mark.parametrize(
    ("column", "out_of"), [("store_id", "34"), ("user_id", "4"), ("final_amount", "13"), ("created_at", "134")]
)
def test_unreadable_cell_excludes_its_row_from_queries_that_use_it(tmp_path: Path, column: str, out_of: str) -> None:
    coffee_folder(tmp_path, [paid("t", "80", user="1") | {column: "x"}], [sold("1")])
    found = compare("coffee", tmp_path)
    assert "".join(query[1] for query in ("q1", "q3", "q4") if found[query].count(b"\n") == 1) == out_of
    assert found["rejects"].count(b"\n") == 2


@pytest.mark.parametrize("column", ["item_id", "quantity", "subtotal", "created_at"])
def test_unreadable_cell_excludes_a_sold_item(tmp_path: Path, column: str) -> None:
    coffee_folder(tmp_path, [], [sold("1") | {column: "x"}, sold("2")])
    found = compare("coffee", tmp_path, ["q2"])
    assert found["q2"] == lines(Q2, "2024-01,quantity,2,1,1.00", "2024-01,profit,2,1,1.00")
    assert found["rejects"].count(b"\n") == 2


@pytest.mark.parametrize("column", ["transaction_id", "store_id", "user_id", "final_amount", "created_at"])
def test_null_cell_is_not_rejected(tmp_path: Path, column: str) -> None:
    coffee_folder(tmp_path, [paid("t", "80", user="1") | {column: ""}, paid("u", "90", user="2")])
    assert "rejects" not in compare("coffee", tmp_path)


def test_monthly_files_are_read_in_name_order(tmp_path: Path) -> None:
    empty_folder("coffee", tmp_path)
    write(tmp_path / "transactions_202312.csv", paid("first", "80"))
    write(tmp_path / "transactions/transactions_202401.csv", paid("second", "80", "2025-05-05 07:00:00"))
    write(tmp_path / "transactions_202402.csv", paid("third", "80", "2024-01-31 07:00:00"))
    write(tmp_path / "transactions/transactions_202506.csv", paid("fourth", "x"), paid("last", "80"))
    found = compare("coffee", tmp_path)
    assert found["q1"] == lines(Q1, *(f"{which},80.00" for which in ("first", "second", "third", "last")))
    assert found["rejects"] == lines(REJECTS, "transactions/transactions_202506.csv,2,final_amount,not a number,x")


def test_files_may_be_directly_in_the_data_directory(tmp_path: Path) -> None:
    nested, flat = tmp_path / "nested", tmp_path / "flat"
    coffee_folder(
        nested, [paid("t", "80", user="7")], [sold("3")], [store("1", "C")], [item("3", "L")], [user("7", "2000-01-01")]
    )
    flat.mkdir()
    for path in nested.rglob("*.csv"):
        (flat / path.name).write_bytes(path.read_bytes())
    assert compare("coffee", flat) == compare("coffee", nested)


def test_month_is_taken_from_the_row_not_the_file(tmp_path: Path) -> None:
    empty_folder("coffee", tmp_path)
    for month in ("202307", "202406", "202506"):
        write(tmp_path / f"transaction_items/transaction_items_{month}.csv", sold("1", at="2024-02-29 23:59:59"))
    assert compare("coffee", tmp_path, ["q2"])["q2"] == lines(
        Q2, "2024-02,quantity,1,3,3.00", "2024-02,profit,1,3,3.00"
    )


def test_monthly_files_may_differ_in_columns_and_line_ends(tmp_path: Path) -> None:
    empty_folder("coffee", tmp_path)
    folder = tmp_path / "transactions"
    (folder / "transactions_202401.csv").write_bytes(
        b"\xef\xbb\xbfcreated_at,final_amount,transaction_id,user_id,store_id\r\n2024-01-01 07:00:00,80,a,1,1\r\n\r\n"
    )
    write(folder / "transactions_202402.csv", paid("b", "90"))
    (folder / "transactions_202403.csv").write_bytes(b'"store_id",user_id,extra,transaction_id,final_amount,created_at')
    assert compare("coffee", tmp_path)["q1"] == lines(Q1, "a,80.00", "b,90.00")


def test_malformed_records_and_invalid_utf8_affect_one_line_each(tmp_path: Path) -> None:
    coffee_folder(tmp_path, [paid("a", "80"), paid("BAD", "80"), paid("b\nc", "80")])
    path = tmp_path / "transactions/transactions_202401.csv"
    rewrite(path, b"BAD", b"\xff\xe2\x82")
    rewrite(path, b'"b\nc"', b'"x" y,,,,,,,,\n"b\nc"')
    append(path, b'"never closed\n')
    found = compare("coffee", tmp_path)
    assert found["q1"] == lines(Q1, "a,80.00", "\ufffd\ufffd,80.00", '"b\nc",80.00')
    assert found["rejects"].count(b",broken quoting,") == 2
