//! Reports in a real browser: they open from disk, show everything, and run nothing.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names under which the browser is installed.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// A page is drawn within this time, or the browser hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// The browser, installed first where that is asked for (`CI` is set); `None` when there is none.
fn browser() -> Option<String> {
    let works = |name: &&&str| {
        let version = Command::new(**name).arg("--version").output();
        version.is_ok_and(|v| v.status.success())
    };
    let find = || NAMES.iter().find(works).map(ToString::to_string);
    if find().is_none() && std::env::var_os("CI").is_some() {
        for arguments in [
            &["update", "-q"][..],
            &["install", "-y", "-q", "--no-install-recommends", "chromium"][..],
        ] {
            let _ = Command::new("apt-get")
                .args(arguments)
                .env("DEBIAN_FRONTEND", "noninteractive")
                .stdin(Stdio::null())
                .output();
        }
    }
    let found = find();
    if found.is_none() {
        // past the capture of tests: a page that nobody opened should be noticed
        let _ = writeln!(
            std::io::stderr(),
            "\n=== NOT TESTED: no {} here, so the HTML reports were not opened in a browser ===\n",
            NAMES.join(", ")
        );
    }
    found
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("treeamp-browser-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the browser on a page with some arguments, and returns what it prints.
fn open(browser: &str, folder: &Folder, page: &Path, arguments: &[String]) -> String {
    let printed = folder.0.join("printed");
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.0.join("profile").display()
        ))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&printed).expect("a file"))
        .stderr(Stdio::null())
        .spawn()
        .expect("the browser starts");
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            assert!(status.success(), "the browser failed: {status}");
            break;
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the browser did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    fs::read_to_string(printed).expect("text")
}

fn treeamp(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_treeamp"))
        .args(arguments)
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
}

/// The fraction of pixels that are not white, in the upper part of a picture.
fn ink(png: &Path) -> f64 {
    let bytes = fs::read(png).expect("a screenshot");
    let picture = tiny_skia::Pixmap::decode_png(&bytes).expect("a PNG");
    let pixels = picture.pixels();
    let upper = &pixels[..pixels.len() / 2];
    let drawn = upper
        .iter()
        .filter(|p| p.red() < 200 || p.green() < 200 || p.blue() < 200);
    drawn.count() as f64 / upper.len() as f64
}

/// A title that would change the page if anything in it were run.
const TITLE: &str = "<script>document.title = 'run'</script><img src=x onerror=\\\"document.title='run'\\\"> & so on";

#[test]
fn reports_open_in_a_browser() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    let path = |name: &str| folder.0.join(name);
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let model = fs::read_to_string(models.join("sparse_regression.toml")).expect("the model");
    let model = model.replace("n = 1000", "n = 100").replace(
        "title = \"Sparse linear regression\"",
        &format!("title = \"{TITLE}\""),
    );
    assert!(model.contains("onerror"), "the title is not replaced");
    fs::write(path("m.toml"), model).expect("a file");
    let text = |p: &PathBuf| p.to_str().expect("a plain path").to_owned();
    let file = text(&path("m.toml"));
    treeamp(&["run", &file, "--report", &text(&path("run.html"))]);
    let table = text(&path("t.csv"));
    let page = text(&path("sweep.html"));
    treeamp(&[
        "sweep",
        &file,
        "--grid",
        "alpha=0.3:0.9:4",
        "--seeds",
        "2",
        "--by",
        "all",
        "--output",
        &table,
        "--report",
        &page,
    ]);
    for (name, pictures, words) in [
        (
            "run.html",
            2,
            ["log-evidence", "Factor graph", "Model file"],
        ),
        ("sweep.html", 1, ["Curves", "Table", "Model file"]),
    ] {
        let dom = open(&browser, &folder, &path(name), &["--dump-dom".to_owned()]);
        // what the browser made of the page: the title as text, nothing run, nothing asked from elsewhere
        assert!(dom.contains("<h1>&lt;script&gt;document.title"), "{name}");
        assert!(dom.contains("<title>&lt;script&gt;"), "{name}");
        assert!(!dom.contains("<title>run</title>"), "{name}: a script ran");
        assert!(!dom.contains("<script") && !dom.contains("<img"), "{name}");
        let addresses = dom.matches("://").count();
        let names = dom.matches("http://www.w3.org/").count();
        assert_eq!(addresses, names, "{name}: addresses other than name spaces");
        assert!(dom.matches("<svg").count() >= pictures, "{name}");
        for word in words {
            assert!(dom.contains(word), "{name}: {word}");
        }
        let png = path("page.png");
        let _ = fs::remove_file(&png);
        let shot = [
            format!("--screenshot={}", png.display()),
            "--window-size=1200,1600".to_owned(),
        ];
        open(&browser, &folder, &path(name), &shot);
        let ink = ink(&png);
        // text, curves and frames; a blank or broken page has next to none
        assert!(
            ink > 0.005 && ink < 0.5,
            "{name}: {ink} of the page is drawn"
        );
    }
}
