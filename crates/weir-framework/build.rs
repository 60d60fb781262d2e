//! Packs the two files of Swagger UI that `/docs` serves. The whole distribution would add 4 MB to the binary.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;
use zip::result::ZipResult;

type Archive = ZipArchive<Cursor<&'static [u8]>>;

const FILES: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR")?;
    let out = Path::new(&out);
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for file in FILES {
        let text = read(&mut archive, &format!("/dist/{file}"))?;
        let mut packed =
            GzEncoder::new(File::create(out.join(format!("{file}.gz")))?, Compression::best());
        packed.write_all(&text)?;
        packed.finish()?;
    }
    fs::write(out.join("swagger-ui-licence.txt"), read(&mut archive, "/LICENSE")?)?;
    Ok(())
}

/// The file of the archive whose path ends with `suffix`.
fn read(archive: &mut Archive, suffix: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let paths: Vec<String> =
        archive.file_names().map(|path| Ok(path?.into_owned())).collect::<ZipResult<_>>()?;
    let path = paths.iter().find(|path| path.ends_with(suffix));
    let path = path.ok_or_else(|| format!("Swagger UI has no {suffix}"))?;
    let mut text = Vec::new();
    archive.by_name(path)?.read_to_end(&mut text)?;
    Ok(text)
}
