//! A self-contained HTML page: model, parameters, tables and pictures in one file.

use std::fmt::Write as _;

use treeamp_lab::figure::Figure;

use crate::exit::Failure;

/// A page in the making. Everything that comes from files is escaped; nothing is fetched from anywhere.
#[derive(Debug)]
pub struct Page {
    title: String,
    body: String,
}

const STYLE: &str = "body{font:16px/1.5 Helvetica,Arial,sans-serif;color:#222;max-width:70rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}\
div.wide{overflow:auto;max-height:40rem}thead th{position:sticky;top:0;background:#fff}table{border-collapse:collapse}footer{margin-top:2rem;color:#666;font-size:.9rem}th,td{padding:.25rem .8rem;text-align:right;border-bottom:1px solid #ddd}\
th:first-child,td:first-child{text-align:left}\
pre{background:#f6f6f4;padding:1rem;overflow:auto}figure{margin:1rem 0}svg,img{max-width:100%;height:auto}";

impl Page {
    /// An empty page.
    pub fn new(title: &str) -> Self {
        let title = if title.is_empty() { "treeamp" } else { title };
        Self {
            title: title.to_owned(),
            body: String::new(),
        }
    }

    /// A heading.
    pub fn section(&mut self, title: &str) -> &mut Self {
        // writing to a string cannot fail
        let _ = writeln!(self.body, "<h2>{}</h2>", escape(title));
        self
    }

    /// A table.
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) -> &mut Self {
        let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::from("<tr>");
            for cell in cells {
                let _ = write!(line, "<{tag}>{}</{tag}>", escape(cell));
            }
            line + "</tr>\n"
        };
        // a wide or long table scrolls by itself
        self.body += "<div class=\"wide\"><table>\n<thead>";
        self.body += &cells("th", &mut header.iter().copied());
        self.body += "</thead>\n<tbody>\n";
        for row in rows {
            self.body += &cells("td", &mut row.iter().map(String::as_str));
        }
        self.body += "</tbody></table></div>\n";
        self
    }

    /// What was asked for on the command line, name and value.
    pub fn options(&mut self, options: &[(String, String)]) -> &mut Self {
        if options.is_empty() {
            return self;
        }
        let rows = options.iter().map(|(n, v)| vec![n.clone(), v.clone()]);
        let rows: Vec<Vec<String>> = rows.collect();
        self.section("Options").table(&["option", "value"], &rows)
    }

    /// A paragraph, if there is something to say.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        if !text.is_empty() {
            let _ = writeln!(self.body, "<p>{}</p>", escape(text));
        }
        self
    }

    /// Text as it is.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let _ = writeln!(self.body, "<pre>{}</pre>", escape(text));
        self
    }

    /// A figure: photographs as a PNG, which has a byte per pixel and not a path, anything else as an SVG.
    pub fn figure(&mut self, figure: &Figure) -> Result<&mut Self, Failure> {
        /// Sharp on most screens.
        const SCALE: f64 = 2.0;
        if !figure.has_pictures() {
            let _ = writeln!(self.body, "<figure>{}</figure>", figure.to_svg());
            return Ok(self);
        }
        let png = figure.to_png(SCALE).map_err(Failure::Run)?;
        let alt = escape(&figure.described());
        let _ = writeln!(
            self.body,
            "<figure><img alt=\"{alt}\" src=\"data:image/png;base64,{}\"></figure>",
            base64(&png)
        );
        Ok(self)
    }

    /// A factor graph that the library drew.
    pub fn graph(&mut self, svg: &str) -> &mut Self {
        // the title is what a screen reader says
        let named = svg.replacen('>', "><title>Factor graph</title>", 1);
        let _ = writeln!(self.body, "<figure>{named}</figure>");
        self
    }

    /// The page.
    pub fn finish(&self) -> String {
        let title = escape(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             </head>\n<body>\n<h1>{title}</h1>\n{}<footer>treeamp {}</footer>\n</body>\n</html>\n",
            self.body,
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// Three bytes as four letters (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |k: usize| u32::from(three.get(k).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k) & 63) as usize];
            out.push(if k <= three.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    out
}

/// Text that cannot be taken for markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c if c.is_control() && c != '\n' && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_letters() {
        // the test vectors of RFC 4648
        for (bytes, letters) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), letters);
        }
    }

    #[test]
    fn nothing_that_comes_from_a_file_is_markup() {
        let mut page = Page::new("<script>alert(1)</script>");
        page.section("a & b")
            .text("</pre><img src=x>")
            .table(&["<b>"], &[vec!["'\"".to_owned()]]);
        let html = page.finish();
        assert!(!html.contains("<script>") && !html.contains("<img") && !html.contains("<b>"));
        assert!(html.contains("&lt;script&gt;") && html.contains("a &amp; b"));
    }
}
