//! Dense tables whose places are used again, under a new name.

/// A table of values; a place that is freed is used again with the next generation, so that an old
/// name never means a new value.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

/// The name of a value: its place, and which of the values that had the place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SlotId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// Makes room for an entry, and then for a quarter more: entries are large, and most nodes have one.
pub(crate) fn make_room<T>(entries: &mut Vec<T>) {
    if entries.len() == entries.capacity() {
        entries.reserve_exact(entries.len() / 4 + 1);
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    pub(crate) fn insert(&mut self, value: T) -> SlotId {
        let index = self.free.pop().unwrap_or_else(|| {
            make_room(&mut self.entries);
            self.entries.push(Entry {
                generation: 0,
                value: None,
            });
            self.entries.len() as u32 - 1
        });
        let entry = &mut self.entries[index as usize];
        entry.value = Some(value);
        SlotId {
            index,
            generation: entry.generation,
        }
    }

    /// The value at a place.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.entries.get(index as usize)?.value.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.entries.get_mut(index as usize)?.value.as_mut()
    }

    /// The place of a name, if its value is still there.
    #[inline]
    pub(crate) fn place(&self, id: SlotId) -> Option<u32> {
        let entry = self.entries.get(id.index as usize)?;
        (entry.generation == id.generation && entry.value.is_some()).then_some(id.index)
    }

    /// The name of the value at a place.
    #[inline]
    pub(crate) fn id(&self, index: u32) -> SlotId {
        let generation = self
            .entries
            .get(index as usize)
            .map_or(0, |entry| entry.generation);
        SlotId { index, generation }
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let entry = self.entries.get_mut(index as usize)?;
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(index);
        Some(value)
    }

    /// The place that the next value gets.
    pub(crate) fn vacant(&self) -> u32 {
        let last = self.free.last().copied();
        last.unwrap_or(self.entries.len() as u32)
    }

    /// All values in the order of their places.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let values = self.entries.iter_mut();
        values.filter_map(|entry| entry.value.as_mut())
    }

    /// Places that are or were in use.
    pub(crate) fn places(&self) -> u32 {
        self.entries.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_never_means_a_new_value() {
        let mut slots = Slots::default();
        let (a, b) = (slots.insert('a'), slots.insert('b'));
        assert_eq!(slots.remove(a.index), Some('a'));
        let c = slots.insert('c');
        assert_eq!((c.index, slots.places()), (a.index, 2));
        assert_eq!((slots.place(a), slots.place(c)), (None, Some(c.index)));
        assert_eq!((slots.get(b.index), slots.id(c.index)), (Some(&'b'), c));
        assert_eq!(
            (slots.remove(a.index), slots.remove(a.index)),
            (Some('c'), None)
        );
    }
}
