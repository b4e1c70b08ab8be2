-- Times are nanoseconds since 1970-01-01 UTC. The columns before `data` are what queries select by; `data` is the
-- record itself as JSON. What a record drops after `keep_series` stands in tables of its own.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE run (
    id       TEXT PRIMARY KEY NOT NULL,   -- UUID version 7: sorts as the runs began
    suite    TEXT NOT NULL,
    trigger  TEXT NOT NULL,
    outcome  TEXT,                        -- NULL while it is under way
    start_ns INTEGER NOT NULL,
    end_ns   INTEGER,
    data     TEXT NOT NULL                -- RunRecord
) STRICT;
CREATE INDEX run_of_suite ON run (suite, id, outcome);
CREATE INDEX run_start ON run (start_ns);

CREATE TABLE record (
    id         INTEGER PRIMARY KEY,
    run        TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    place      INTEGER NOT NULL,          -- CaseRecord.index
    suite      TEXT NOT NULL,
    case_name  TEXT NOT NULL,
    workload   TEXT NOT NULL,
    target     TEXT,
    outcome    TEXT NOT NULL,
    start_ns   INTEGER NOT NULL,
    end_ns     INTEGER NOT NULL,
    per_second REAL,                      -- NULL when measuring did not begin
    p50        REAL,                      -- response times in seconds; NULL with too few samples
    p95        REAL,
    p99        REAL,
    failed     INTEGER,                   -- failed operations
    detailed   INTEGER NOT NULL,          -- 1 while its intervals and series are kept
    data       TEXT NOT NULL,             -- CaseRecord without intervals and histograms
    UNIQUE (run, place)
) STRICT;
CREATE INDEX record_of_case ON record (suite, case_name, outcome, start_ns);
CREATE INDEX record_start ON record (start_ns);
CREATE INDEX record_detailed ON record (start_ns) WHERE detailed = 1;

CREATE TABLE histogram (
    record INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
    name   TEXT NOT NULL,                 -- response, service, lag
    v2     BLOB NOT NULL,                 -- HdrHistogram V2
    PRIMARY KEY (record, name)
) STRICT;

CREATE TABLE intervals (
    record INTEGER PRIMARY KEY REFERENCES record (id) ON DELETE CASCADE,
    data   TEXT NOT NULL                  -- CaseResult.intervals
) STRICT;

CREATE TABLE series (
    record   INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
    name     TEXT NOT NULL,
    start_ns INTEGER NOT NULL,            -- instant of the first value
    step_ns  INTEGER NOT NULL,            -- distance of two values
    data     BLOB NOT NULL,               -- 64-bit floating point, little endian; NaN = unknown
    PRIMARY KEY (record, name)
) STRICT;
