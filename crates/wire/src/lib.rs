//! Cells, feedback and control messages, and their encodings.
