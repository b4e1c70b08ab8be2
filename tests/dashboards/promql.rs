//! As much of PromQL as the rules ask about: which series a query selects, and what is done with them.

/// Words that stand between expressions.
const OPERATORS: [&str; 6] = ["and", "or", "unless", "offset", "bool", "atan2"];
/// Words before a list of labels.
const BEFORE_LABELS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

/// What a query selects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    /// Label, operator, value.
    pub(crate) matchers: Vec<(String, String, String)>,
    /// The time in brackets, when there is one.
    pub(crate) range: Option<String>,
    /// The functions and aggregations around it, outermost first.
    pub(crate) inside: Vec<String>,
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_:.$".contains(letter)
}

fn tokens(expr: &str) -> Vec<Token> {
    let (mut tokens, mut rest) = (Vec::new(), expr.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' || first == '\'' {
            let end = rest[1..].find(first).unwrap_or_else(|| panic!("a text without end: {expr}"));
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            end + 2
        } else if is_of_word(first) {
            let end = rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            end
        } else {
            tokens.push(Token::Sign(first));
            first.len_utf8()
        };
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Everything a query selects.
pub(crate) fn selectors(expr: &str) -> Vec<Selector> {
    let mut reader = Reader { tokens: tokens(expr), at: 0, inside: Vec::new(), found: Vec::new() };
    while reader.at < reader.tokens.len() {
        reader.step();
    }
    reader.found
}

/// Labels by which a query joins or groups.
pub(crate) fn grouping(expr: &str) -> Vec<String> {
    let tokens = tokens(expr);
    let mut labels = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        if BEFORE_LABELS.contains(&word.as_str()) {
            let list = tokens[place + 1..].iter().take_while(|token| **token != Token::Sign(')'));
            labels.extend(list.filter_map(|token| match token {
                Token::Word(label) => Some(label.clone()),
                _ => None,
            }));
        }
    }
    labels
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    inside: Vec<String>,
    found: Vec<Selector>,
}

impl Reader {
    fn peek(&self, sign: char) -> bool {
        self.tokens.get(self.at) == Some(&Token::Sign(sign))
    }

    fn next(&mut self) -> Option<Token> {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned()
    }

    /// The tokens up to a sign, which is passed over.
    fn up_to(&mut self, sign: char) -> Vec<Token> {
        let from = self.at;
        while self.at < self.tokens.len() && !self.peek(sign) {
            self.at += 1;
        }
        self.at += 1;
        self.tokens[from..self.at - 1].to_vec()
    }

    fn step(&mut self) {
        match self.next() {
            Some(Token::Word(word)) if BEFORE_LABELS.contains(&word.as_str()) => {
                self.at += 1;
                self.up_to(')');
            }
            Some(Token::Word(word)) if self.peek('(') => {
                self.at += 1;
                self.inside.push(word);
            }
            Some(Token::Word(word)) => self.word(word),
            Some(Token::Sign('(')) => self.inside.push(String::new()),
            Some(Token::Sign(')')) => drop(self.inside.pop()),
            // An aggregation may stand before the labels it groups by: `sum by (x) (…)`.
            _ => {}
        }
    }

    fn word(&mut self, word: String) {
        let aggregation = matches!(self.tokens.get(self.at), Some(Token::Word(next)) if BEFORE_LABELS.contains(&next.as_str()));
        let number = word.starts_with(|first: char| first.is_ascii_digit() || first == '$');
        if number || OPERATORS.contains(&word.as_str()) || (aggregation && !word.contains('_')) {
            return;
        }
        let mut selector =
            Selector { metric: word, matchers: Vec::new(), range: None, inside: self.inside.clone() };
        if self.peek('{') {
            self.at += 1;
            selector.matchers = matchers(&self.up_to('}'));
        }
        if self.peek('[') {
            self.at += 1;
            let range = self.up_to(']');
            selector.range = range.first().map(|token| match token {
                Token::Word(word) => word.clone(),
                other => format!("{other:?}"),
            });
        }
        self.found.push(selector);
    }
}

fn matchers(tokens: &[Token]) -> Vec<(String, String, String)> {
    tokens
        .split(|token| *token == Token::Sign(','))
        .filter_map(|matcher| {
            let (Token::Word(label), Token::Text(value)) = (matcher.first()?, matcher.last()?) else {
                return None;
            };
            let signs = matcher.iter().filter_map(|token| match token {
                Token::Sign(sign) => Some(sign),
                _ => None,
            });
            Some((label.clone(), signs.collect(), value.clone()))
        })
        .collect()
}

#[test]
fn series_are_found_wherever_they_stand() {
    let query = r#"1 - sum by (job) (rate(a_total{mode=~"x|y", job="b"}[5m])) / on (job) group_left () max_over_time(b[$__range] offset $before) or vector(0)"#;
    let found = selectors(query);
    let metrics: Vec<&str> = found.iter().map(|one| one.metric.as_str()).collect();
    assert_eq!(metrics, ["a_total", "b"]);
    assert_eq!(found[0].range.as_deref(), Some("5m"));
    assert!(found[0].inside.ends_with(&["rate".to_owned()]), "{found:?}");
    assert_eq!(found[0].matchers[0], ("mode".to_owned(), "=~".to_owned(), "x|y".to_owned()));
    assert_eq!(found[1].inside, ["max_over_time"]);
    assert_eq!(grouping(query), ["job", "job"]);
}
