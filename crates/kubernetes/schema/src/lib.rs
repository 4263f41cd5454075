//! x
use serde_json::Value;
/// x
pub fn upgrade(_: &Value, _: &Value) -> Result<(), Vec<String>> {
    Ok(())
}
