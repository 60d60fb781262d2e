//! `weir notes`: the same, from the command line.
use clap::{Parser, Subcommand};
use weir::{api, failure::Failure, output};
use weir_framework::page::Page;

use crate::notes::Note;

#[derive(Parser)]
pub struct NotesArgs {
    namespace: String,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Add a note
    Add { id: String, text: String },
    /// List notes
    List,
}

pub async fn run(args: NotesArgs, api: &api::Api) -> Result<(), Failure> {
    let path = format!("/v1/namespaces/{}/notes", api::part(&args.namespace));
    match args.verb {
        Verb::Add { id, text } => {
            let note: Note = api.post(&path, &Note { id, text }).await?;
            Ok(output::line(format!("{} added", note.id))?)
        }
        Verb::List => {
            let page: Page<Note> = api.get(&path).await?;
            let rows = page.items.into_iter().map(|note| vec![note.id, note.text]);
            Ok(output::table(vec!["id".into(), "text".into()], rows, &[])?)
        }
    }
}
