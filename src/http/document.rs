//! The routes as a page of the documentation.

use std::fmt::Write as _;

use super::routes::ROUTES;

const BEGINNING: &str = "\
# HTTP interface

benchd listens on `server.listen` (TCP) and `server.socket` (a unix socket).

## Who may do what

As long as no users are configured, it depends on where a request comes from; whoever may do one thing may do those
left of it. With users, every request by TCP needs one of them, whose role decides ([http-access.md](http-access.md)).

| from | open | scrape | read | change | admin |
|---|---|---|---|---|---|
| the unix socket (its file mode decides who may open it) | yes | yes | yes | yes | yes |
| this host by TCP | yes | yes | yes | no | no |
| other hosts | yes | yes | no | no | no |
| users: the least role | none needed | `scrape` | `read` | `trigger` | `admin` |

Overriding a guard and running a `benchmark` that is not configured need admin.

## Routes

| method | path | access | what it is for | answers |
|---|---|---|---|---|
";

const END: &str = "
HEAD works where GET does; a wrong method is answered 405 with Allow. Times are RFC 3339, durations seconds, sizes bytes.
JSON carries `\"schema\": 1` and may only grow.

## Starting a run

`POST /api/v1/runs` with `Content-Type: application/json` (else 415) and at most `server.body_limit` bytes (else 413):

| member | meaning |
|---|---|
| `suite` | the suite to run |
| `benchmark` | instead of `suite`: one benchmark as in the configuration, `{\"workload\": \"cpu\", \"threads\": [1, 8]}`. `keys`, pairs of texts, gives keys in an order of their own |
| `case` | a pattern of case names (`*`, `?`), or a list of them |
| `scale` | in place of the suite's: multiplies rows, operations, file sizes and times |
| `rounds` | in place of the suite's: how often all cases run, in an order that alternates |
| `note` | what to remember about the run, at most 200 characters |
| `queue` | `true`: wait for the active run, or for the suite's window, instead of 409 or 423 |
| `override` | guards to run in spite of: `window` |

Unknown members are refused (422) with a JSON pointer. With an `Idempotency-Key` the answer is remembered for 24 h for the
same person: the same body gets the same 202 with `Idempotency-Replayed: true`, another body 422. Refusals are not
remembered. A run that guards block is kept with outcome `blocked`; the 423 names every guard, and Retry-After when to try
again.

## Following a run

`GET /api/v1/runs/{run}/events` sends an `id`, an `event` and one JSON object of `data` for each event (`stage`, `progress`,
`note`, `interval`, `guard`, `result`, `end`), `t` being seconds since the run began, and a comment every 15 s. `progress` comes once a
second, with `done`, `of`, `unit` and, after the first, `per_second`. The events of
a run are kept until 10 minutes after its end; `Last-Event-ID` resumes. A run that ended earlier answers with its `end`.

## Lists

Newest first. Ids are time-ordered, so `before=ID` is the whole cursor; `next` (and `Link: …; rel=\"next\"`) leads to the
next page and is absent on the last one. A run that ended is immutable: it has an ETag, and If-None-Match is answered 304.

## Comparing

`GET /api/v1/compare` gives `comparison`. Within one run it has `cells`, each with its `row`, `column`, `case`, `value` (median of
the rounds), `interval95` (half of the 95 % interval, relative) and `against`: the `ratio` to the first row of its group, its
`interval95`, the `verdict` (`better`, `same`, `worse`, `unclear`, `not_comparable`), `rounds_needed` and the reasons in `not_comparable`;
of what is not comparable the ratio is there with `anyway=true` alone.
Between two sides it has `cases` with `a`, `b` and the same, and `runs`: how many each side has. Without `rows` and `columns` the keys that vary are taken, `threads` as columns.
A run whose benchmarks have a matrix carries the same table as `comparison`. What verdicts mean: [compare.md](compare.md).

## Problems

What is not done is answered as `application/problem+json` (RFC 9457) with `type`, `title`, `status`, `detail` and, where
there is something to do, `do`.

| type `urn:benchd:problem:…` | status | meaning |
|---|---|---|
| `blocked` | 423 | guards do not hold; `guards` has each with value, limit and what to do |
| `run-active` | 409 | another run goes first; `active` names it |
| `run-finished` | 409 | the run has ended and cannot be cancelled |
| `unknown-suite` | 422, 404 | no such suite is configured |
| `unknown-run` | 404 | no such run |
| `parameters` | 422 | body or query cannot be used; `errors` has each mistake with its place |
| `configuration` | 422 | the configuration on disk has problems; `problems` has them all |
| `idempotency-mismatch` | 422 | the key was used for another body |
| `authentication` | 401 | this needs a login, or user and password are wrong; a wrong password is answered after a second |
| `role` | 403 | not from there, or not with this role |
| `tls-required` | 403 | this port speaks TLS, or users are configured and the request came from another host without TLS |
| `limit` | 503, 429 | too many connections or requests at once; too many wrong passwords, or more requests than `rate_limit` allows (429). Try again after Retry-After |
| `too-large` | 413 | the body is too large (headers: 431) |
| `timeout` | 408, 503 | headers or body came too slowly; or the answer did |
| `draining` | 503 | the daemon is stopping |
| `internal` | 500 | a fault of benchd; the journal has it under the reference given |

Statuses 400, 404, 405 and 415 without a type of their own have the type `about:blank`.
";

/// `docs/api.md`.
pub fn document() -> String {
    let mut page = BEGINNING.to_owned();
    for route in ROUTES {
        let (method, path, access) = (route.method, route.path, route.access.as_str());
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| {method} | `{path}` | {access} | {} | {} |", route.about, route.answers);
    }
    page + END
}
