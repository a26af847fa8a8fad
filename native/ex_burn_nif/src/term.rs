//! Terms decoded into the engine's types, through serde.
//!
//! | term                    | value                              |
//! |-------------------------|------------------------------------|
//! | atom                    | variant without content, or string |
//! | `{atom, term}`          | variant with content               |
//! | map with atom keys      | struct                             |
//! | list or tuple           | sequence                           |
//! | `nil`                   | `None`                             |
//! | integer, float, boolean | themselves                         |

use ex_burn_engine::{Error, Result};
use rustler::types::tuple::get_tuple;
use rustler::{ListIterator, MapIterator, Term, TermType};
use serde::de::value::StringDeserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use std::fmt;

/// Decodes an argument of `function`.
pub fn decode<'a, T: Deserialize<'a>>(function: &str, term: Term<'a>) -> Result<T> {
    T::deserialize(Decoder { term, depth: 0 })
        .map_err(|Refused { given, expected }| Error::new(function, given, expected))
}

/// A term that was something else than expected.
#[derive(Debug)]
struct Refused {
    given: String,
    expected: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "given {}, expected {}", self.given, self.expected)
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { given: message.to_string(), expected: "a valid term".to_owned() }
    }

    fn invalid_type(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self { given: given.to_string(), expected: expected.to_string() }
    }

    fn invalid_value(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self { given: given.to_string(), expected: expected.to_string() }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self { given: format!(":{variant}"), expected: format!("one of :{}", expected.join(", :")) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self { given: format!("no {field}"), expected: format!("the key :{field}") }
    }
}

fn refuse(term: Term, expected: &str) -> Refused {
    // A term can be of any size; its beginning says enough.
    let given: String = format!("{term:?}").chars().take(120).collect();
    Refused { given, expected: expected.to_owned() }
}

/// How deep terms may nest: decoding recurses, and a thread of the BEAM has little stack.
const DEPTH: usize = 100;

#[derive(Clone, Copy)]
struct Decoder<'a> {
    term: Term<'a>,
    depth: usize,
}

impl<'a> Decoder<'a> {
    /// The decoder of a term inside this one.
    fn inner(self, term: Term<'a>) -> std::result::Result<Self, Refused> {
        if self.depth == DEPTH {
            return Err(refuse(term, &format!("terms nested at most {DEPTH} deep")));
        }
        Ok(Self { term, depth: self.depth + 1 })
    }

    fn atom(self, expected: &str) -> std::result::Result<String, Refused> {
        self.term.atom_to_string().map_err(|_| refuse(self.term, expected))
    }

    fn elements(self) -> std::result::Result<Vec<Term<'a>>, Refused> {
        // The length of an improper list is refused; its iterator would panic.
        if self.term.list_length().is_ok() {
            let list = self.term.decode::<ListIterator>();
            return list.map(Iterator::collect).map_err(|_| refuse(self.term, "a list"));
        }
        get_tuple(self.term).map_err(|_| refuse(self.term, "a list or a tuple"))
    }
}

impl<'de> de::Deserializer<'de> for Decoder<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        match self.term.get_type() {
            TermType::Atom => match self.atom("an atom")?.as_str() {
                "nil" => visitor.visit_unit(),
                "true" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                atom => visitor.visit_str(atom),
            },
            TermType::Integer => {
                if let Ok(value) = self.term.decode::<i64>() {
                    visitor.visit_i64(value)
                } else if let Ok(value) = self.term.decode::<u64>() {
                    visitor.visit_u64(value)
                } else {
                    Err(refuse(self.term, "an integer of 64 bits"))
                }
            }
            TermType::Float => {
                let value = self.term.decode().map_err(|_| refuse(self.term, "a float"))?;
                visitor.visit_f64(value)
            }
            TermType::List | TermType::Tuple => self.deserialize_seq(visitor),
            TermType::Map => self.deserialize_map(visitor),
            _ => Err(refuse(self.term, "an atom, a number, a list, a tuple or a map")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        if self.term.is_atom() && self.atom("an atom")? == "nil" {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        visitor.visit_seq(Elements { parent: self, elements: self.elements()?.into_iter() })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        let elements = self.elements()?;
        if elements.len() != length {
            return Err(refuse(self.term, &format!("{length} elements")));
        }
        visitor.visit_seq(Elements { parent: self, elements: elements.into_iter() })
    }

    fn deserialize_map<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        let entries = MapIterator::new(self.term).ok_or_else(|| refuse(self.term, "a map"))?;
        visitor.visit_map(Entries { parent: self, entries, value: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        let expected = || format!("one of :{}", variants.join(", :"));
        if self.term.is_atom() {
            return visitor.visit_enum(self.atom("an atom")?.into_deserializer());
        }
        match get_tuple(self.term).as_deref() {
            Ok(&[name, content]) if name.is_atom() => {
                let name = self.inner(name)?.atom("an atom")?.into_deserializer();
                visitor.visit_enum(Variant { name, content: self.inner(content)? })
            }
            _ => Err(refuse(self.term, &expected())),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        visitor.visit_string(self.atom("an atom as key")?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string
        bytes byte_buf unit unit_struct newtype_struct tuple_struct
    }
}

struct Elements<'a> {
    parent: Decoder<'a>,
    elements: std::vec::IntoIter<Term<'a>>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> std::result::Result<Option<T::Value>, Refused> {
        self.elements.next().map(|term| seed.deserialize(self.parent.inner(term)?)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

struct Entries<'a> {
    parent: Decoder<'a>,
    entries: MapIterator<'a>,
    value: Option<Term<'a>>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> std::result::Result<Option<K::Value>, Refused> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(self.parent.inner(key)?).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> std::result::Result<V::Value, Refused> {
        let value = self.value.take().ok_or_else(|| de::Error::custom("a key without a value"))?;
        seed.deserialize(self.parent.inner(value)?)
    }
}

/// `{name, content}`.
struct Variant<'a> {
    name: StringDeserializer<Refused>,
    content: Decoder<'a>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Refused;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> std::result::Result<(V::Value, Self), Refused> {
        Ok((seed.deserialize(self.name.clone())?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Refused;

    fn unit_variant(self) -> std::result::Result<(), Refused> {
        Err(refuse(self.content.term, "a name alone"))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> std::result::Result<T::Value, Refused> {
        seed.deserialize(self.content)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        de::Deserializer::deserialize_tuple(self.content, length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Refused> {
        de::Deserializer::deserialize_map(self.content, visitor)
    }
}
