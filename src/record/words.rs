//! The words of runs, cases and connections: each is the same in code, JSON, metrics and text.

/// A table of the words of one concept: the same word in code, JSON, metrics and text.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in the order of the table.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word that stands for it everywhere.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<$name, String> {
                $name::ALL.iter().copied().find(|value| value.as_str() == text).ok_or_else(|| {
                    let words: Vec<&str> = $name::ALL.iter().map(|value| value.as_str()).collect();
                    format!("`{text}` is not one of {}", words.join(", "))
                })
            }
        }
    };
}
pub(crate) use words;

words! {
    /// A part of the life of a case, in the order they happen.
    Stage {
        /// Checks that must hold before anything is touched.
        Guard = "guard",
        /// Servers and data sets are made ready.
        Prepare = "prepare",
        /// The load runs and is not counted.
        WarmUp = "warm_up",
        /// The load runs and is counted.
        Measure = "measure",
        /// The result is stored.
        Record = "record",
        /// What was made for the case is taken away.
        CleanUp = "clean_up",
    }
}

words! {
    /// How a run or a case ended.
    Outcome {
        /// All of it was done.
        Finished = "finished",
        /// It went wrong; the failure says where.
        Failed = "failed",
        /// A guard did not hold; nothing was loaded.
        Blocked = "blocked",
        /// Stopped on the way by a guard, a deadline or a crash.
        Aborted = "aborted",
        /// Stopped by a person.
        Cancelled = "cancelled",
    }
}

words! {
    /// What made a run begin.
    Trigger {
        /// The suite's schedule.
        Schedule = "schedule",
        /// A person or a program, by HTTP or command line.
        Request = "request",
    }
}

words! {
    /// How much a run may take from its host.
    Profile {
        /// A modest fixed rate on a live server.
        Canary = "canary",
        /// Saturating load inside a window.
        Maintenance = "maintenance",
        /// A machine that nobody else uses.
        Lab = "lab",
    }
}

words! {
    /// Whether the next operation waits for the last one.
    LoadModel {
        /// Operations start at intended instants, however slow the answers are.
        Open = "open",
        /// Each client sends its next operation when the last one is answered.
        Closed = "closed",
    }
}

words! {
    /// Whether a connection by TCP is encrypted, and what of the server's certificate is verified.
    TlsMode {
        /// Never encrypted.
        Disabled = "disabled",
        /// Encrypted when the server offers it; nothing is verified.
        Preferred = "preferred",
        /// Encrypted, or there is no connection; nothing is verified.
        Required = "required",
        /// Encrypted, and the certificate was signed by the given authority, for whatever host.
        VerifyCa = "verify_ca",
        /// Encrypted, and the certificate was signed by the given authority for this host.
        VerifyIdentity = "verify_identity",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_as_they_are_written() {
        for stage in Stage::ALL {
            assert_eq!(stage.as_str().parse::<Stage>(), Ok(*stage));
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.as_str());
        }
        assert!("warmup".parse::<Stage>().unwrap_err().contains("guard, prepare, warm_up"));
    }
}
