//! The server elsewhere that commands call: `weir --url https://… limiter check …`.
//!
//! A flag wins over a variable. A flag that names a store wins over `WEIR_URL`, so that a shell with `WEIR_URL` set can still
//! work on a folder.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;
use weir_framework::auth::Secret;
use weir_framework::client::{Remote, RemoteError, RemoteSettings, has_credentials};

use crate::failure::Failure;
use crate::output;

const URL: &str = "WEIR_URL";
const TOKEN: &str = "WEIR_TOKEN";
const TOKEN_FILE: &str = "WEIR_TOKEN_FILE";
const CA_FILE: &str = "WEIR_CA_FILE";

/// The variables of this file. They are no settings of a server.
pub(crate) const VARIABLES: [&str; 4] = [URL, TOKEN, TOKEN_FILE, CA_FILE];

/// Flags that stand before a command.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Server elsewhere")]
pub(crate) struct RemoteFlags {
    /// The origin of the server.
    #[arg(
        long,
        value_name = "URL",
        help = "Server to call instead of opening a store, for example https://weir.example.com [env: WEIR_URL]"
    )]
    url: Option<String>,
    /// File with the token or the admin key for the server [env: WEIR_TOKEN_FILE]
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Token or admin key for the server; other users of this machine can see it, unlike the file and the variable
    /// [env: WEIR_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// PEM file of a CA to trust, beside those of the machine [env: WEIR_CA_FILE]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

impl RemoteFlags {
    /// Whether the command line names a server.
    pub(crate) fn names_server(&self) -> bool {
        self.url.is_some()
    }

    /// The server that flags and variables name.
    pub(crate) fn settings(
        &self,
        variables: &[(OsString, OsString)],
    ) -> Result<Option<RemoteSettings>, Failure> {
        let set = |name: &str| {
            let found = variables.iter().find(|(set, text)| set == name && !text.is_empty());
            found.map(|(_, text)| text.as_os_str())
        };
        let url = self.url.clone().or_else(|| set(URL).map(lossy));
        let Some(url) = url else {
            let flags = [
                ("--token", self.token.is_some()),
                ("--token-file", self.token_file.is_some()),
                ("--ca-file", self.ca_file.is_some()),
            ];
            return match flags.iter().find(|(_, given)| *given) {
                Some((flag, _)) => Err(Failure::usage(format!("{flag} is for a server elsewhere"))
                    .help("name the server with --url or WEIR_URL")),
                None => Ok(None),
            };
        };
        if has_credentials(&url) {
            // The address itself is not shown, as it has a password.
            return Err(Failure::usage("the address of the server has credentials in it").help(
                "leave them out of --url and WEIR_URL; WEIR_TOKEN or --token-file has the token",
            ));
        }
        let credentials = match (&self.token, &self.token_file) {
            (Some(token), _) => Some(Secret::new(token.trim())),
            (None, Some(file)) => Some(read(file)?),
            (None, None) => match (set(TOKEN), set(TOKEN_FILE)) {
                (Some(_), Some(_)) => {
                    return Err(Failure::usage(format!("{TOKEN} and {TOKEN_FILE} are both set"))
                        .help("unset one of them"));
                }
                (Some(token), None) => Some(Secret::new(lossy(token).trim())),
                (None, Some(file)) => Some(read(Path::new(file))?),
                (None, None) => None,
            },
        };
        let ca_file = self.ca_file.clone().or_else(|| set(CA_FILE).map(PathBuf::from));
        Ok(Some(RemoteSettings { url, credentials, ca_file }))
    }
}

fn lossy(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

/// The token or key in a file.
fn read(file: &Path) -> Result<Secret, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("the token in {} cannot be read", file.display())).because(error)
    })?;
    match text.trim() {
        "" => Err(Failure::usage(format!("{} is empty; it should have a token", file.display()))),
        token => Ok(Secret::new(token)),
    }
}

/// Prepares calls of the server.
pub(crate) fn connect(settings: &RemoteSettings) -> Result<Remote, Failure> {
    let remote = Remote::new(settings)?;
    if remote.exposes_credentials() {
        output::note(format!("the token is sent to {} unencrypted; use https://", remote.host()));
    }
    Ok(remote)
}

/// The failure of a command that works on a store, when the user named a server.
pub(crate) fn needs_store(server: &str) -> Failure {
    Failure::usage(format!("this command works on a store, not on the server at {server}")).help(
        "run it on the machine that has the store; a flag like --data selects a store although WEIR_URL is set",
    )
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        let message = error.to_string();
        match &error {
            RemoteError::Url(_) | RemoteError::Credentials => Failure::usage(message),
            RemoteError::Dots(_) => {
                Failure::usage(message).help("run the command on the machine of the server")
            }
            RemoteError::CaFile { source, .. } => Failure::usage(message).because(source),
            RemoteError::Name(_) => Failure::fault(message).help("check --url (WEIR_URL)"),
            RemoteError::Refused(_) => Failure::fault(message)
                .help("check --url (WEIR_URL), and that the server runs and listens there"),
            RemoteError::NoTls(_) => Failure::fault(message).help("name it with http:// in --url"),
            RemoteError::Tls { .. } => Failure::fault(message).help(
                "name the file of a private CA with --ca-file (WEIR_CA_FILE), and the host as the certificate does",
            ),
            RemoteError::TimedOut { .. } => {
                Failure::fault(message).help("check the network and a firewall, then try again")
            }
            RemoteError::Redirect { .. } => {
                Failure::fault(message).help("name the address of the server itself with --url")
            }
            RemoteError::NotWeir { .. } => Failure::fault(message)
                .help("check --url (WEIR_URL), and the proxy in front of the server if there is one"),
            RemoteError::Broken { source, .. } => {
                let mut failure = Failure::fault(message).because(source);
                let mut cause = source.source();
                while let Some(error) = cause {
                    failure = failure.because(error);
                    cause = error.source();
                }
                failure
            }
            _ => Failure::fault(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, text)| (name.into(), text.into())).collect()
    }

    #[test]
    fn flags_win_over_variables() {
        let flags = RemoteFlags { url: Some("https://flag".into()), ..RemoteFlags::default() };
        let set = variables(&[(URL, "https://variable"), (TOKEN, " key \n"), (CA_FILE, "ca.pem")]);
        let settings = flags.settings(&set).unwrap().unwrap();
        assert_eq!(settings.url, "https://flag");
        assert_eq!(settings.credentials.unwrap().expose(), "key");
        assert_eq!(settings.ca_file, Some("ca.pem".into()));
    }

    #[test]
    fn no_server_is_no_mistake_but_a_token_for_none_is() {
        let none = RemoteFlags::default();
        assert!(none.settings(&variables(&[(URL, ""), (TOKEN, "key")])).unwrap().is_none());
        let token = RemoteFlags { token: Some("key".into()), ..RemoteFlags::default() };
        assert!(token.settings(&[]).unwrap_err().text().contains("--token"));
    }

    #[test]
    fn two_variables_for_one_token_are_a_mistake() {
        let set = variables(&[(URL, "https://x"), (TOKEN, "a"), (TOKEN_FILE, "b")]);
        assert!(RemoteFlags::default().settings(&set).is_err());
    }
}
