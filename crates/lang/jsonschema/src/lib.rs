//! JSON Schema, all drafts, with the verdicts and messages that Helm shows.
