//! Links over datagrams, in virtual time.

mod hostile;
mod lossy;
mod orderly;
mod support;
