"""Writes small input tables for the tests: a row names only the cells that matter to its test."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

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
    "totalTravelDistance,segmentsDepartureTimeEpochSeconds,segmentsDepartureTimeRaw,"
    "segmentsArrivalTimeEpochSeconds,segmentsArrivalTimeRaw,segmentsArrivalAirportCode,"
    "segmentsDepartureAirportCode,segmentsAirlineName,segmentsAirlineCode,segmentsEquipmentDescription,"
    "segmentsDurationInSeconds,segmentsDistance,segmentsCabinCode",
    "airports-codepublic.csv": "Airport Code;Airport Name;City Name;Country Name;Country Code;Latitude;"
    "Longitude;World Area Code;City Name geo_name_id;Country Name geo_name_id;coordinates",
    "transactions": "transaction_id,store_id,payment_method_id,voucher_id,user_id,original_amount,"
    "discount_applied,final_amount,created_at",
    "transaction_items": "transaction_id,item_id,quantity,unit_price,subtotal,created_at",
    "users": "user_id,gender,birthdate,registered_at",
    "stores": "store_id,store_name,street,postal_code,city,state,latitude,longitude",
    "menu_items": "item_id,item_name,category,price,is_seasonal,available_from,available_to",
}


def write(path: Path, *rows: Mapping[str, str]) -> None:
    """Write ``rows`` under the full header of the contract, cells that a row does not name being empty."""
    header = HEADERS.get(path.name) or HEADERS[path.name.split(".")[0].rstrip("_0123456789")]
    delimiter = ";" if ";" in header else ","
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, header.split(delimiter), restval="", delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def lines(*wanted: str) -> bytes:
    """The bytes of a result made of these lines."""
    return "".join(line + "\n" for line in wanted).encode()
