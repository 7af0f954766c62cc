"""The tables of the pipeline: what the files look like, and what is made of them."""

REFERENCE_COLUMNS = {
    "airlines": "carrier STRING, name STRING",
    "airports": "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING",
    "planes": (
        "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT, speed INT, engine STRING"
    ),
}

DELIVERY_COLUMNS = {
    "flights": (
        "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT, "
        "arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT, "
        "hour INT, minute INT, time_hour TIMESTAMP"
    ),
    "weather": (
        "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT, "
        "wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP"
    ),
}

# A flight is known by its scheduled hour, its carrier and its number.
FLIGHT_KEY = "time_hour, carrier, flight"

FLIGHT_COLUMNS = (
    f"{FLIGHT_KEY}, origin, dest, tailnum, sched_dep_time, dep_time, dep_delay, sched_arr_time, arr_time, arr_delay, air_time, distance"
)
WEATHER_COLUMNS = "time_hour, origin, temp, dewp, humid, wind_dir, wind_speed, wind_gust, precip, pressure, visib"

# The four tables that every day's transaction changes together.
FOUR_TABLES = ("flights", "weather", "daily_delays", "audit_log")

TABLE_COLUMNS = {
    "flights": (
        "day DATE, time_hour TIMESTAMP, carrier STRING, flight INT, origin STRING, dest STRING, tailnum STRING, sched_dep_time INT, "
        "dep_time INT, dep_delay INT, sched_arr_time INT, arr_time INT, arr_delay INT, air_time INT, distance INT"
    ),
    "weather": (
        "day DATE, time_hour TIMESTAMP, origin STRING, temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT, wind_speed DOUBLE, "
        "wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE"
    ),
    "daily_delays": (
        "day DATE, carrier STRING, flights BIGINT, cancelled BIGINT, mean_dep_delay DOUBLE, mean_arr_delay DOUBLE, "
        "worst_dep_delay INT, mean_wind_speed DOUBLE, mean_visibility DOUBLE"
    ),
    "audit_log": "day DATE, table_name STRING, rows_added BIGINT, rows_after BIGINT, transaction STRING",
}

PARTITIONED_BY_DAY = ("flights", "weather")
