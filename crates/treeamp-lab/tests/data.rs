//! Data files: what is written reads back the same, and nothing that is read is trusted.

use std::fs;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp_lab::data::{
    Array, column_names, decode_csv, decode_npy, decode_npz, encode_csv, encode_npy, encode_npz,
    read, read_at_most, write_whole,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn arrays() -> Result<Vec<Array>, String> {
    let odd = vec![0.1, -0.0, 1e-310, f64::MAX, f64::INFINITY, 1.0 / 3.0];
    Ok(vec![
        Array::real(vec![6], odd.clone())?,
        Array::real(vec![2, 3], odd.clone())?,
        Array::real(vec![], vec![2.5])?,
        Array::real(vec![0, 3], vec![])?,
        Array::new(vec![3], odd.clone(), true)?,
        Array::new(vec![1, 3, 1], odd, true)?,
    ])
}

/// An `.npy` file with the given header and data.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let len = u16::try_from(header.len()).expect("a short header");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(len.to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn what_is_written_reads_back_to_the_last_bit() -> Outcome {
    let arrays = arrays()?;
    for array in &arrays {
        assert_eq!(&decode_npy(&encode_npy(array))?, array);
    }
    let named: Vec<(String, &Array)> = arrays
        .iter()
        .enumerate()
        .map(|(i, a)| (format!("a{i}"), a))
        .collect();
    let named: Vec<(&str, &Array)> = named.iter().map(|(n, a)| (n.as_str(), *a)).collect();
    let back = decode_npz(&encode_npz(&named)?)?;
    assert_eq!(back.len(), arrays.len());
    for ((name, array), (expected_name, expected)) in back.iter().zip(&named) {
        assert_eq!(name, expected_name);
        assert_eq!(array, *expected);
    }
    for array in &arrays[..2] {
        assert_eq!(&decode_csv(&encode_csv(array))?, array);
    }
    Ok(())
}

#[test]
fn every_type_and_order_of_numbers() -> Outcome {
    let header = |descr: &str, fortran: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    };
    let cases: [(&str, Vec<u8>, Vec<f64>); 9] = [
        (
            "<f4",
            [1.5_f32, -2.0]
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect(),
            vec![1.5, -2.0],
        ),
        (
            ">f8",
            [1.5_f64, -2.0]
                .iter()
                .flat_map(|x| x.to_be_bytes())
                .collect(),
            vec![1.5, -2.0],
        ),
        (
            "<i2",
            [7_i16, -300].iter().flat_map(|x| x.to_le_bytes()).collect(),
            vec![7.0, -300.0],
        ),
        (
            ">i4",
            [7_i32, -70_000]
                .iter()
                .flat_map(|x| x.to_be_bytes())
                .collect(),
            vec![7.0, -70_000.0],
        ),
        (
            "<i8",
            [7_i64, -1].iter().flat_map(|x| x.to_le_bytes()).collect(),
            vec![7.0, -1.0],
        ),
        ("|i1", vec![7, 255], vec![7.0, -1.0]),
        ("|u1", vec![7, 255], vec![7.0, 255.0]),
        (
            "<u4",
            [7_u32, u32::MAX]
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect(),
            vec![7.0, 4_294_967_295.0],
        ),
        ("|b1", vec![0, 1], vec![0.0, 1.0]),
    ];
    for (descr, bytes, expected) in cases {
        let array = decode_npy(&npy(&header(descr, "False", "(2,)"), &bytes))?;
        assert_eq!(array.values, expected, "{descr}");
    }
    // columns first: [[0, 1, 2], [3, 4, 5]] is stored as 0 3 1 4 2 5
    let columns: Vec<u8> = vec![0, 3, 1, 4, 2, 5];
    let array = decode_npy(&npy(&header("|u1", "True", "(2, 3)"), &columns))?;
    assert_eq!(array.values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    Ok(())
}

#[test]
fn bad_files_say_what_is_wrong() {
    let good = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }";
    for (bytes, complaint) in [
        (b"hello".to_vec(), "expected the header of a .npy file"),
        (npy(good, &[0; 64]), "expected the 8000000000000 bytes"),
        (
            npy(
                &good.replace("1000000000000", "99999999999999999999999"),
                &[],
            ),
            "expected a shape",
        ),
        (
            npy(
                &good.replace("1000000000000", "9999999999999, 9999999999999"),
                &[],
            ),
            "too many",
        ),
        (
            npy(&good.replace("<f8", "|O"), &[]),
            "expected numbers, got the type `|O`",
        ),
        (
            npy(&good.replace("<f8", "<U5"), &[]),
            "expected numbers, got the type `<U5`",
        ),
        (
            npy(&good.replace("'<f8'", "[('a', '<f8')]"), &[]),
            "expected one type of numbers",
        ),
        (
            npy(&good.replace("False", "Maybe"), &[]),
            "expected True or False",
        ),
        (npy("{}", &[]), "expected `descr`"),
    ] {
        let error = decode_npy(&bytes).expect_err(complaint);
        assert!(error.contains(complaint), "{error}");
    }
    let huge = npy(
        "{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
        &i64::MAX.to_le_bytes(),
    );
    let error = decode_npy(&huge).expect_err("2^63 - 1 is no f64");
    assert!(error.contains("below 2^53"), "{error}");
    for (text, complaint) in [
        ("", "empty file"),
        ("a,b\n", "only a header"),
        ("1,2\n3\n", "line 2: expected 2 numbers, got 1"),
        ("x,y\n1,2\n3,z\n", "line 3: expected a number, got `z`"),
    ] {
        let error = decode_csv(text.as_bytes()).expect_err(complaint);
        assert!(error.contains(complaint), "{error}");
    }
    for path in ["nothing.npy", "nothing.npz:x", "nothing.csv"] {
        let error = read(path).expect_err(path).to_string();
        assert!(error.starts_with("nothing."), "{error}");
    }
    assert!(
        read("Cargo.toml")
            .expect_err("no data")
            .to_string()
            .contains(".npy, .npz or .csv")
    );
}

/// A member whose header claims another length than the archive states is refused by its header alone: its
/// checksum, which is wrong here, is never reached.
#[test]
fn an_archive_is_refused_before_it_is_inflated() {
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (250000000,), }";
    let bytes = archive_with(&npy(header, &vec![0; 1 << 20]), &[0; 4]);
    let error = decode_npz(&bytes).expect_err("too short");
    let expected = format!(
        "expected {} bytes, as its header says, got {}",
        2_000_000_000 + 10 + header.len(),
        (1 << 20) + 10 + header.len()
    );
    assert!(error.contains(&expected), "{error}");
}

/// A device says that it is empty, and never ends.
#[cfg(unix)]
#[test]
fn a_file_without_end_is_refused() {
    let error = read_at_most("/dev/zero", 1000).expect_err("no end");
    assert_eq!(error.to_string(), "expected at most 1000 bytes, got more");
    assert!(read_at_most("/dev/null", 0).is_ok_and(|b| b.is_empty()));
    let error = read_at_most("Cargo.toml", 3).expect_err("too long");
    assert!(error.to_string().contains("at most 3 bytes, got "));
}

/// Damaged and invented files never panic and never claim more than they hold. The long version reads
/// a million of each.
#[test]
fn no_file_is_trusted() -> Outcome {
    let full = std::env::var_os("TREEAMP_FULL").is_some();
    let rounds = if full { 1_000_000 } else { 30_000 };
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let arrays = arrays()?;
    let deflated = miniz_oxide_archive(&encode_npy(&arrays[1]));
    assert_eq!(decode_npz(&deflated)?[0].1, arrays[1]);
    let seeds: Vec<Vec<u8>> = vec![
        encode_npy(&arrays[1]),
        encode_npz(&[("x", &arrays[1]), ("y", &arrays[4])])?,
        deflated,
        encode_csv(&arrays[1]),
    ];
    let mut accepted = 0;
    for round in 0..rounds {
        let bytes = mutate(&seeds[round % seeds.len()], &mut rng);
        let read = [
            decode_npy(&bytes).map(|a| vec![a]),
            decode_npz(&bytes).map(|all| all.into_iter().map(|(_, a)| a).collect()),
            decode_csv(&bytes).map(|a| vec![a]),
        ];
        for array in read.into_iter().flatten().flatten() {
            accepted += 1;
            assert!(array.values.len() <= 1032 * bytes.len());
        }
    }
    // otherwise the test would only ever see refusals
    assert!(accepted > rounds / 100, "{accepted} of {rounds}");
    Ok(())
}

/// An archive with one deflated member.
fn miniz_oxide_archive(content: &[u8]) -> Vec<u8> {
    let stored = encode_npz_raw(content);
    // the fixed part of the stored archive's directory gives the checksum
    let at = stored
        .windows(4)
        .position(|w| w == b"PK\x01\x02")
        .expect("a directory");
    archive_with(content, &stored[at + 16..at + 20])
}

/// An archive with one deflated member and a checksum: the local header and directory as the format has them.
fn archive_with(content: &[u8], crc: &[u8]) -> Vec<u8> {
    let packed = miniz_oxide::deflate::compress_to_vec(content, 6);
    let name = b"x.npy";
    let len = |n: usize| u32::try_from(n).expect("small").to_le_bytes();
    let mut common = vec![20, 0, 0, 0, 8, 0, 0, 0, 33, 0];
    common.extend(crc);
    common.extend(len(packed.len()));
    common.extend(len(content.len()));
    common.extend([5, 0, 0, 0]);
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(&common);
    bytes.extend(name);
    bytes.extend(&packed);
    let start = bytes.len();
    bytes.extend(b"PK\x01\x02\x14\x00");
    bytes.extend(&common);
    bytes.extend([0; 14]);
    bytes.extend(name);
    let directory = bytes.len() - start;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(len(directory));
    bytes.extend(len(start));
    bytes.extend([0, 0]);
    bytes
}

fn encode_npz_raw(content: &[u8]) -> Vec<u8> {
    let array = decode_npy(content).expect("an array");
    encode_npz(&[("x", &array)]).expect("an archive")
}

fn mutate(seed: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..rng.random_range(0..4) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..5) {
            0 => bytes[at] = rng.random_range(0..=255),
            1 => bytes[at] ^= 1 << rng.random_range(0..8),
            2 => bytes.truncate(at),
            3 => {
                let end = rng.random_range(at..=bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let word = [u32::MAX, 0, 1 << 31, rng.next_u32()][rng.random_range(0..4)];
                let end = (at + 4).min(bytes.len());
                bytes.splice(at..end, word.to_le_bytes());
            }
        }
    }
    bytes
}

#[test]
fn files_are_written_whole_or_not_at_all() -> Outcome {
    let folder = std::env::temp_dir().join(format!("treeamp-whole-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("a.csv");
    write_whole(&path, b"1\n")?;
    write_whole(&path, b"2\n")?;
    assert_eq!(std::fs::read(&path)?, b"2\n");
    // a folder in the way: the error comes, and nothing is left behind
    let taken = folder.join("taken");
    std::fs::create_dir_all(taken.join("inside"))?;
    assert!(write_whole(&taken, b"3\n").is_err());
    assert!(write_whole(folder.join("nowhere/a.csv"), b"3\n").is_err());
    assert_eq!(std::fs::read_dir(&folder)?.count(), 2);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Fields in quotes, as spreadsheets and R write them.
#[test]
fn quoted_fields_are_read() -> Outcome {
    let folder = std::env::temp_dir().join(format!("treeamp-quotes-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let file = folder.join("t.csv");
    let at = |columns: &str| format!("{}:{columns}", file.display());
    let text = "\u{feff}\"Price, in EUR\",\"say \"\"age\"\"\",size, two\r\n\
                \"1.5\",2,\"note\nof two lines, and \"\"more\"\"\",4\r\n\r\n\
                \"-3\",\"4e1\",\"\",6\r\n";
    fs::write(&file, text)?;
    let values = |columns: &str| read(&at(columns)).map(|a| (a.shape, a.values));
    assert_eq!(values("Price, in EUR")?, (vec![2], vec![1.5, -3.0]));
    let both = (vec![2, 2], vec![2.0, 1.5, 40.0, -3.0]);
    assert_eq!(values("say \"age\",\"Price, in EUR\"")?, both);
    let names = column_names(&at("-size")).expect("names");
    assert_eq!(names, ["Price, in EUR", "say \"age\"", "two"]);
    assert_eq!(
        values("-size,two")?,
        (vec![2, 2], vec![1.5, 2.0, -3.0, 40.0])
    );
    let said = read(&at("size")).expect_err("text").to_string();
    // the field in quotes began on line 2
    assert!(said.contains("line 2, column `size`"), "{said}");
    for (text, columns, complaint) in [
        ("", None, "got an empty file"),
        ("\n \n", Some("a"), "got an empty file"),
        ("a,b\n", Some("a"), "got only a header"),
        ("a,b,a\n1,2,3\n", Some("a"), "2 columns are called `a`"),
        ("a,b,a\n1,2,3\n", Some("-a"), "2 columns are called `a`"),
        ("a,b\n1,\"2\n3,4\n", None, "line 2: a quote is never closed"),
        (
            "a,b\n1,\"2\"3\n",
            None,
            "line 2: expected a separator behind",
        ),
        (
            "a\n\"x\n y\"\n\"1\"\"\"\n",
            None,
            "line 2: expected a number",
        ),
    ] {
        fs::write(&file, text)?;
        let path = columns.map_or_else(|| file.display().to_string(), at);
        let said = read(&path).expect_err(complaint).to_string();
        assert!(said.contains(complaint), "{text:?}: {said}");
    }
    // a column that nobody names may have the name of another one
    fs::write(&file, "a,b,a\n1,2,3\n")?;
    assert_eq!(values("b")?.1, [2.0]);
    fs::remove_dir_all(&folder)?;
    Ok(())
}
