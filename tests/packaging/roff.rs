//! Manual pages: the few requests of man(7) that are needed, and texts in Markdown as we write it.

/// A manual page as it grows.
pub(crate) struct Page(String);

impl Page {
    /// A page with its title and the section NAME.
    pub(crate) fn new(name: &str, section: u8, manual: &str, about: &str) -> Page {
        let mut page = Page(format!(
            ".\\\" Generated: BENCHD_UPDATE=1 cargo test --test packaging pages\n.TH {name} {section} \"\" \"benchd {}\" \"{manual}\"\n",
            env!("CARGO_PKG_VERSION")
        ));
        page.section("Name");
        page.line(&format!("{} \\- {}", escape(name), escape(about)));
        page
    }

    pub(crate) fn section(&mut self, title: &str) {
        self.line(&format!(".SH {}", quoted(&title.to_uppercase())));
    }

    pub(crate) fn subsection(&mut self, title: &str) {
        self.line(&format!(".SS {}", quoted(title)));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.line(".PP");
        self.line(&inline(text));
    }

    /// A word and what it means.
    pub(crate) fn item(&mut self, tag: &str, text: &str) {
        self.line(".TP");
        self.line(&inline(tag));
        self.line(&inline(text));
    }

    /// Lines as they are.
    pub(crate) fn verbatim<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        self.line(".PP\n.nf");
        lines.for_each(|line| self.line(&escape(line)));
        self.line(".fi");
    }

    pub(crate) fn see_also(&mut self, others: &[(&str, u8)]) {
        self.section("See also");
        let others: Vec<String> =
            others.iter().map(|(name, section)| format!("\\fB{}\\fR({section})", escape(name))).collect();
        self.line(&others.join(", "));
        self.line("More is in /usr/share/doc/benchd: README.md, operations.md, metrics.md.");
    }

    fn line(&mut self, line: &str) {
        self.0.push_str(if line.is_empty() { "\\&" } else { line });
        self.0.push('\n');
    }

    pub(crate) fn text(self) -> String {
        self.0
    }
}

/// A text as roff takes it for what it is.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escape(text).replace('"', "\\(dq"))
}

/// Markdown within a line: code and what is strong in bold, links as their text.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (place, part) in text.split('`').enumerate() {
        if place % 2 == 1 {
            out.push_str(&format!("\\fB{}\\fR", escape(part)));
            continue;
        }
        for (place, part) in part.split("**").enumerate() {
            let part = escape(&without_links(part));
            out.push_str(&if place % 2 == 1 { format!("\\fB{part}\\fR") } else { part });
        }
    }
    if text.starts_with(['.', '\'']) && !out.starts_with('\\') { format!("\\&{out}") } else { out }
}

fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(name, url)| Some((name, url.split_once(')')?.1)));
        let Some((name, after)) = link else { break };
        out.push_str(before);
        out.push_str(name);
        rest = after;
    }
    out + rest
}

/// Puts a page of Markdown under way: headings, paragraphs, lists, tables and code.
pub(crate) fn markdown(page: &mut Page, text: &str) {
    for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let first = block.lines().next().unwrap_or_default();
        if first.starts_with("# ") {
            page.section("Description");
        } else if let Some(title) = first.strip_prefix("## ") {
            page.section(title);
            let rest: Vec<&str> = block.lines().skip(1).collect();
            markdown(page, &rest.join("\n"));
        } else if first.starts_with("```") {
            page.verbatim(block.lines().filter(|line| !line.starts_with("```")));
        } else if first.starts_with('|') {
            table(page, block);
        } else {
            page.paragraph(&block.replace('\n', " "));
        }
    }
}

/// The first column, or the first two of a wide table, and what belongs to it.
fn table(page: &mut Page, block: &str) {
    let mut rows = block.lines().map(|line| {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<String>>()
    });
    let Some(head) = rows.next() else { return };
    let tags = if head.len() > 4 && head.iter().any(|cell| cell == "path") { 2 } else { 1 };
    for row in rows.skip(1) {
        let facts = head.iter().zip(&row).skip(tags).filter(|(_, cell)| !cell.is_empty());
        let facts: Vec<String> = match row.len() - tags {
            1 => facts.map(|(_, cell)| cell.clone()).collect(),
            _ => facts.map(|(name, cell)| format!("{name}: {}", cell.trim_end_matches('.'))).collect(),
        };
        page.item(&row[..tags].join(" "), &facts.join(". "));
    }
}

#[test]
fn what_roff_would_take_for_its_own_is_escaped() {
    for (text, expected) in [
        (".SH x", "\\&.SH x"),
        ("'quoted'", "\\&'quoted'"),
        ("a\\b --c", "a\\eb \\-\\-c"),
        ("the `--case` of [it](docs/x.md), **never**", "the \\fB\\-\\-case\\fR of it, \\fBnever\\fR"),
        ("[suite.NAME] is no link", "[suite.NAME] is no link"),
    ] {
        assert_eq!(inline(text), expected);
    }
}
