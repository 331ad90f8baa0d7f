"""`cauce sql` and `cauce schema`: what they print and write, compared with DuckDB on the same files."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from subprocess import run

import duckdb
import pytest

import cauce as library
from cauce.cli.options import ConnectionOptions, RunOptions
from cauce.cli.sql import SqlOptions, sql_command
from cauce.errors import FabricFull
from tests.cli.running import cauce, written

ORDERS = "id,customer,paid,day\n1,7,10.50,2024-01-31\n2,8,3.25,2024-02-01\n3,7,0.75,2024-02-02\n4,,9.00,2024-02-29\n"
CUSTOMERS = "id,name\n7,Ana\n8,Bea\n"
TOTALS = """
SELECT name, count(*) AS orders, sum(paid) AS paid
FROM orders LEFT JOIN customers ON orders.customer = customers.id GROUP BY ALL ORDER BY paid DESC
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "orders").mkdir(parents=True)
    (folder / "orders" / "2024.csv").write_text(ORDERS)
    (folder / "customers.csv").write_text(CUSTOMERS)
    return folder


def by_duckdb(shop: Path, statement: str) -> list[list[str]]:
    with duckdb.connect() as other:
        other.execute(f"CREATE TABLE orders AS FROM read_csv('{shop}/orders/*.csv')")
        other.execute(f"CREATE TABLE customers AS FROM read_csv('{shop}/customers.csv')")
        rows = other.execute(statement).fetchall()
    return [["" if value is None else str(value) for value in row] for row in rows]


def rows_of(file: Path) -> list[list[str]]:
    _, *rows = csv.reader(io.StringIO(file.read_text()))
    return rows


@pytest.mark.quick
def test_answer_is_printed_with_its_row_count(tmp_path: Path, shop: Path) -> None:
    outcome = cauce(tmp_path, "sql", "SELECT count(*) AS orders FROM orders", "--data", "shop")
    assert (outcome.code, outcome.err) == (0, "")
    assert "orders" in outcome.out
    assert " 4 " in outcome.out
    assert "1 row" in outcome.out


def test_workers_whose_answers_are_only_printed_name_no_directory(tmp_path: Path, shop: Path) -> None:
    (shop / "orders" / "2025.csv").write_text(f"{ORDERS}5,7\n")
    outcome = cauce(tmp_path, "sql", "SELECT id FROM orders", "--data", "shop", "--work", "work", "--workers", "1")
    assert outcome.code == 0, outcome.err
    assert "sql: 1 query over 8 rows" in outcome.out
    assert "answers in" not in outcome.out
    assert "rejected 1 record; with --out DIR, DIR/rejects.csv lists all of them" in outcome.err


def test_a_locale_without_the_characters_shows_their_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("país\n→\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    answered = run(
        [sys.executable, "-m", "cauce", "sql", "SELECT * FROM t"], cwd=tmp_path, capture_output=True, check=True
    )
    assert "| país |" in answered.stdout.decode("latin-1")
    assert "| \\u2192 " in answered.stdout.decode("latin-1")
    schema = run([sys.executable, "-m", "cauce", "schema", "."], cwd=tmp_path, capture_output=True, check=True)
    assert '"país" = "text"' in schema.stdout.decode("utf-8")


def test_a_full_temporary_directory_is_no_reason_to_run_the_same_again(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise FabricFull("no space left; run the same command again")

    monkeypatch.setattr("cauce.cli.run.run_and_show", full)
    monkeypatch.setattr("cauce.cli.sql._is_little", lambda *_: False)
    options = SqlOptions(text="SELECT id FROM orders", data=shop)
    with pytest.raises(FabricFull, match=r"choose a directory with more space with --work$"):
        sql_command(options, RunOptions(), ConnectionOptions(), lambda _: False)


@pytest.mark.quick
def test_written_answer_equals_duckdb(tmp_path: Path, shop: Path) -> None:
    outcome = cauce(tmp_path, "sql", TOTALS, "--data", "shop", "--out", "out")
    assert (outcome.code, outcome.err) == (0, "")
    assert written(tmp_path / "out") == ["q1.csv"]
    assert rows_of(tmp_path / "out" / "q1.csv") == by_duckdb(
        shop, TOTALS.replace("sum(paid)", "sum(paid)::DECIMAL(9,2)")
    )


def test_statements_of_a_file_are_one_job_with_named_answers(tmp_path: Path, shop: Path) -> None:
    (tmp_path / "two.sql").write_text(f"-- name: totals\n{TOTALS};\nSELECT max(day) AS last FROM orders;\n")
    outcome = cauce(tmp_path, "sql", "-f", "two.sql", "--data", "shop", "--out", "out")
    assert outcome.code == 0, outcome.err
    assert written(tmp_path / "out") == ["q2.csv", "totals.csv"]
    assert rows_of(tmp_path / "out" / "q2.csv") == [["2024-02-29"]]


def test_path_in_from_names_files(tmp_path: Path, shop: Path) -> None:
    statement = "SELECT count(*) AS n FROM 'orders/20*.csv'"
    outcome = cauce(tmp_path, "sql", statement, "--data", "shop", "--out", "out")
    assert outcome.code == 0, outcome.err
    assert rows_of(tmp_path / "out" / "q1.csv") == [["4"]]


def test_explain_prints_the_plan_and_answers_nothing(tmp_path: Path, shop: Path) -> None:
    outcome = cauce(tmp_path, "sql", TOTALS, "--data", "shop", "--explain", "--out", "out")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("scan orders") >= 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('SELECT Unit FROM (SELECT 1 AS a, 2 AS "Unit Price")', 'there is no column Unit; there are a, "Unit Price"'),
        ('SELECT 1 FROM customers WHERE name = "Ana"', "a text is written in single quotes, as in 'Ana'"),
        pytest.param("SELECT nme FROM customers", "line 1, column 8: there is no column nme", marks=pytest.mark.quick),
        ("SELECT *\nFROM ordres", "line 2, column 6: there is no table ordres; did you mean orders?"),
        ("DELETE FROM orders", "DELETE is not supported: only queries"),
        ("SHOW TABLES", "`cauce schema DIR` lists tables and columns"),
        ("SELECT", "line 1, column 1: SELECT needs a column"),
        ("", "there is no statement"),
    ],
)
def test_wrong_statement_is_refused_with_its_place(tmp_path: Path, shop: Path, statement: str, message: str) -> None:
    (tmp_path / "wrong.sql").write_text(statement)
    outcome = cauce(tmp_path, "sql", "-f", "wrong.sql", "--data", "shop")
    assert outcome.code in (1, 2)
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_rows_that_do_not_fit_a_chosen_type_are_rejected(tmp_path: Path, shop: Path) -> None:
    (shop / "customers.csv").write_text(f"{CUSTOMERS}x9,Cid\n")
    arguments = ("sql", "SELECT id FROM customers", "--data", "shop", "--type", "customers.id=integer")
    outcome = cauce(tmp_path, *arguments, "--out", "out")
    assert outcome.code == 0, outcome.err
    assert rows_of(tmp_path / "out" / "q1.csv") == [["7"], ["8"]]
    assert rows_of(tmp_path / "out" / "rejects.csv") == [["customers.csv", "4", "id", "not an integer", "x9"]]
    assert "such as customers.csv line 4: 'x9'" in outcome.err
    assert "correct the cells, or read them as text: --type customers.id=text" in outcome.err


def test_column_that_is_text_because_of_a_few_cells_is_noted_unless_its_type_is_given(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "items.csv").write_text(
        "item,price\n" + "".join(f"i{n},{n}.5\n" for n in range(50)) + "x,free\n"
    )
    arguments = ("sql", "SELECT count(*) AS n FROM items WHERE Price > ''", "--data", "shop")
    assert "--type 'items.price=decimal(18,1)'" in cauce(tmp_path, *arguments).err
    assert cauce(tmp_path, *arguments, "--type", "items.price=text").err == ""


def test_printed_schema_is_accepted_and_changes_types(tmp_path: Path, shop: Path) -> None:
    printed = cauce(tmp_path, "schema", "shop")
    assert (printed.code, printed.err) == (0, "")
    assert 'paid = "decimal(18,2)"' in printed.out
    (tmp_path / "schema.toml").write_text(printed.out.replace('paid = "decimal(18,2)"', 'paid = "text"'))
    statement = "SELECT min(paid) AS first FROM orders"
    outcome = cauce(tmp_path, "sql", statement, "--data", "shop", "--schema", "schema.toml", "--out", "out")
    assert outcome.code == 0, outcome.err
    assert rows_of(tmp_path / "out" / "q1.csv") == [["0.75"]]
    assert rows_of(tmp_path / "out" / "q1.csv") == by_duckdb(shop, "SELECT min(paid::VARCHAR) FROM orders")


def test_parameter_has_a_default_and_can_be_given(tmp_path: Path, shop: Path) -> None:
    (tmp_path / "one.sql").write_text(
        "-- parameter: least = 5\nSELECT count(*) AS n FROM orders WHERE paid >= $least\n"
    )
    for given, expected in (((), "2"), (("--param", "least=3"), "3")):
        outcome = cauce(tmp_path, "sql", "-f", "one.sql", "--data", "shop", "--out", "out", *given)
        assert outcome.code == 0, outcome.err
        assert rows_of(tmp_path / "out" / "q1.csv") == [[expected]]
    outcome = cauce(tmp_path, "sql", "-f", "one.sql", "--data", "shop", "--param", "last=3")
    assert outcome.code == 2
    assert "did you mean least?" in outcome.err


@pytest.mark.quick
def test_library_returns_frames(shop: Path) -> None:
    answers = library.sql("SELECT sum(paid) AS paid FROM orders", shop)
    assert [str(value) for value in answers["q1"]["paid"]] == ["23.50"]


def test_folder_of_sql_is_a_dataset(tmp_path: Path, shop: Path) -> None:
    folder = tmp_path / "questions"
    folder.mkdir()
    (folder / "schema.toml").write_text(cauce(tmp_path, "schema", "shop").out)
    (folder / "totals.sql").write_text(f"-- What each customer paid{TOTALS}")
    (folder / "since.sql").write_text(
        "-- Orders since a day\n-- parameter: day = DATE '2024-02-01'\n"
        "SELECT id FROM orders WHERE day >= $day ORDER BY id;\n"
    )
    outcome = cauce(tmp_path, "run", "questions/", "--data", "shop", "--out", "out")
    assert outcome.code == 0, outcome.err
    assert "questions.totals  What each customer paid" in outcome.out
    assert rows_of(tmp_path / "out" / "since.csv") == [["2"], ["3"], ["4"]]
    given = ("--queries", "since", "--param", "day=DATE '2024-02-02'")
    outcome = cauce(tmp_path, "run", "questions", "--data", "shop", "--out", "out", *given)
    assert outcome.code == 0, outcome.err
    assert rows_of(tmp_path / "out" / "since.csv") == [["3"], ["4"]]
    (folder / "since.sql").write_text("SELECT nothing FROM orders")
    outcome = cauce(tmp_path, "run", "questions", "--data", "shop", "--out", "out")
    assert outcome.code in (1, 2)
    assert "since.sql: line 2, column 8: there is no column nothing" in outcome.err


@pytest.mark.quick
def test_library_function_is_callable_after_its_package_was_imported(shop: Path) -> None:
    import cauce.sql_frontend.parse  # noqa: F401  # binds the name `sql` of the package

    answers = library.sql("SELECT count(*) AS n FROM orders", data=shop)
    assert answers["q1"]["n"].to_list() == [4]
