//! Values that may be written in more than one way: one or many, short or long.
//!
//! The visitors are written by hand, because serde's own way to try one type after another loses
//! the places.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use super::Leaf;

/// A number, or a text that may carry a unit.
#[derive(Clone, Debug)]
pub(crate) enum Quantity {
    Number(i64),
    Text(String),
}

/// A text, or `true`.
#[derive(Clone, Debug)]
pub(crate) enum Presence {
    Any,
    Text(String),
}

/// One value, or a list of them.
#[derive(Debug)]
pub(crate) enum OneOrMany<T> {
    Many(Vec<Spanned<T>>),
    One(T),
}

/// A value as the short form of a table, or the table.
#[derive(Debug)]
pub(crate) enum Short<S, L> {
    Long(Box<L>),
    Short(S),
}

/// The values of a setting that takes one or many, each with its place.
pub(crate) fn each<T: Clone>(leaf: &Leaf<OneOrMany<T>>) -> Vec<Spanned<T>> {
    match leaf {
        None => Vec::new(),
        Some(leaf) => match leaf.get_ref() {
            OneOrMany::Many(all) => all.clone(),
            OneOrMany::One(one) => vec![Spanned::new(leaf.span(), one.clone())],
        },
    }
}

struct Read<T>(PhantomData<T>);

fn read<T>() -> Read<T> {
    Read(PhantomData)
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(read::<Self>())
    }
}

impl Visitor<'_> for Read<Quantity> {
    type Value = Quantity;
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number with its unit, like \"5s\" or \"64 KiB\"")
    }
    fn visit_i64<E>(self, value: i64) -> Result<Quantity, E> {
        Ok(Quantity::Number(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Quantity, E> {
        Ok(Quantity::Text(value.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(read::<Self>())
    }
}

impl Visitor<'_> for Read<Presence> {
    type Value = Presence;
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text, or true")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Presence, E> {
        Ok(Presence::Any)
    }
    fn visit_str<E>(self, value: &str) -> Result<Presence, E> {
        Ok(Presence::Text(value.to_owned()))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(read::<Self>())
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<OneOrMany<T>> {
    type Value = OneOrMany<T>;
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("one value, or a list of them")
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany::Many)
    }
}

impl<'de, S: Deserialize<'de>, L: Deserialize<'de>> Deserialize<'de> for Short<S, L> {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(read::<Self>())
    }
}

impl<'de, S: Deserialize<'de>, L: Deserialize<'de>> Visitor<'de> for Read<Short<S, L>> {
    type Value = Short<S, L>;
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("one value, or a table")
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        S::deserialize(value.into_deserializer()).map(Short::Short)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        S::deserialize(value.into_deserializer()).map(Short::Short)
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        S::deserialize(value.into_deserializer()).map(Short::Short)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        S::deserialize(SeqAccessDeserializer::new(list)).map(Short::Short)
    }
    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        L::deserialize(MapAccessDeserializer::new(map)).map(|long| Short::Long(Box::new(long)))
    }
}
