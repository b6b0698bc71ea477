//! The terminal: the whole of it shows the figures, and keys are heard.

use std::io::{self, Stdout, Write};
use std::time::Duration;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{
    self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{execute, queue};

use super::line::Line;
use crate::progress;

/// What the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    /// Nothing, or it was done.
    Nothing,
    /// The same figures on a screen of another size or place.
    Redraw,
    /// The end.
    Quit,
}

/// The terminal, which becomes what it was when this is dropped.
#[derive(Debug)]
pub(super) struct Screen {
    out: Stdout,
    styled: bool,
    /// Lines above the first that is shown.
    above: usize,
}

impl Screen {
    /// Takes the terminal; `styled` text may be shown there.
    pub(super) fn open(styled: bool) -> io::Result<Self> {
        progress::undo_at_exit(restore);
        enable_raw_mode()?;
        let mut screen = Self {
            out: io::stdout(),
            styled,
            above: 0,
        };
        execute!(screen.out, EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Shows as many lines as there is room for.
    pub(super) fn show(&mut self, lines: &[Line]) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let room = usize::from(height).saturating_sub(1).max(1);
        self.above = self.above.min(lines.len().saturating_sub(room));
        queue!(self.out, MoveTo(0, 0))?;
        for line in lines.iter().skip(self.above).take(room) {
            write!(self.out, "{}", line.text(self.styled, width.into()))?;
            queue!(self.out, Clear(ClearType::UntilNewLine))?;
            write!(self.out, "\r\n")?;
        }
        let below = lines.len().saturating_sub(self.above + room);
        let foot = foot(self.above, below).text(self.styled, width.into());
        queue!(self.out, Clear(ClearType::FromCursorDown))?;
        queue!(self.out, MoveTo(0, height.saturating_sub(1)))?;
        write!(self.out, "{foot}")?;
        self.out.flush()
    }

    /// What the user wants, if that comes within this time.
    pub(super) fn listen(&mut self, time: Duration) -> io::Result<Wish> {
        if !event::poll(time)? {
            return Ok(Wish::Nothing);
        }
        Ok(match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.on_key(key),
            Event::Resize(..) => Wish::Redraw,
            _ => Wish::Nothing,
        })
    }

    fn on_key(&mut self, key: KeyEvent) -> Wish {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.above = match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Wish::Quit,
            KeyCode::Char('c') if control => return Wish::Quit,
            KeyCode::Up | KeyCode::Char('k') => self.above.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.above + 1,
            _ => return Wish::Nothing,
        };
        Wish::Redraw
    }
}

/// The last line.
fn foot(above: usize, below: usize) -> Line {
    let line = Line::titled("q").plain(" quits");
    if (above, below) == (0, 0) {
        return line;
    }
    line.plain(&format!(
        ", up and down scroll: {above} lines above, {below} below"
    ))
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Makes the terminal what it was.
fn restore() {
    // Nothing can be done about a terminal that is gone.
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}
