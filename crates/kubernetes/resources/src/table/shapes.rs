//! The shapes of the types.

use podium_schema::shape::{self, List, Merge, Object, Patch, Scalar, Shape, ShapeId, Shapes};

use super::types::{Field, Form, Struct, TypeId, Types};

/// All shapes, and which is whose.
#[derive(Debug, Default)]
pub struct Built {
    pub shapes: Shapes,
    ids: Vec<ShapeId>,
}

impl Built {
    pub fn of_type(&self, id: TypeId) -> Option<ShapeId> {
        self.ids.get(usize::from(id.0)).copied()
    }
}

pub fn build(types: &Types) -> Built {
    let mut built = Built::default();
    built.ids = types.all.iter().map(|_| built.shapes.add(Shape::Anything)).collect();
    for (ty, id) in types.all.iter().zip(built.ids.clone()) {
        let shape = match ty.form {
            Form::Struct(id) => Shape::Object(object(types, types.struct_(id), &mut built)),
            Form::Pointer(inner) => plain(types, types.target(inner).0, &built),
            _ => built.plain_of(ty.form),
        };
        built.shapes.set(id, shape);
    }
    // A pointer's shape is what it points to: that was not known yet.
    for (at, ty) in types.all.iter().enumerate() {
        if let Form::Pointer(inner) = ty.form
            && let (Some(id), Some(target)) =
                (built.ids.get(at).copied(), built.of_type(types.target(inner).0))
        {
            let shape = built.shapes.get(target).clone();
            built.shapes.set(id, shape);
        }
    }
    built
}

fn plain(types: &Types, id: TypeId, built: &Built) -> Shape {
    built.plain_of(types.get(id).form)
}

impl Built {
    fn plain_of(&self, form: Form) -> Shape {
        let id = |id: TypeId| self.of_type(id);
        let scalar = match form {
            Form::String | Form::Duration => Scalar::String,
            Form::Bool => Scalar::Boolean,
            Form::Int32 => Scalar::Int32,
            Form::Int64 => Scalar::Int64,
            Form::Float64 => Scalar::Number,
            Form::Bytes => Scalar::Bytes,
            Form::Time => Scalar::Time,
            Form::MicroTime => Scalar::MicroTime,
            Form::Quantity => Scalar::Quantity,
            Form::IntOrString => Scalar::IntOrString,
            Form::List(inner) => {
                return id(inner)
                    .map_or(Shape::Anything, |items| Shape::List(List { items, merge: Merge::Whole }));
            }
            Form::Map(inner) => {
                return Shape::Object(Object { rest: id(inner), ..Object::default() });
            }
            // Whatever it is, it is owned as one.
            Form::Raw | Form::Fields => {
                return Shape::Object(Object { keeps_unknown: true, whole: true, ..Object::default() });
            }
            _ => return Shape::Anything,
        };
        Shape::Scalar(scalar)
    }
}

/// Fields whose parts are owned one by one, though values of their types are owned as one elsewhere.
const PARTED: [(&str, &str); 1] = [("core/v1.PersistentVolumeSpec", "claimRef")];

fn object(types: &Types, one: &Struct, built: &mut Built) -> Object {
    let fields = one.fields.iter().map(|field| shape_field(types, one.name, field, built)).collect();
    Object { fields, rest: None, keeps_unknown: false, whole: one.whole }
}

/// A field; one with rules of its own for merging has a shape of its own.
fn shape_field(types: &Types, one: &str, field: &Field, built: &mut Built) -> shape::Field {
    let (target, ty) = types.target(field.ty);
    let mut shape = built.of_type(target);
    let mut patch = Patch::default();
    let mut default = None;
    let mut rest = field.rest;
    while !rest.is_empty() {
        if let Some(json) = rest.strip_prefix('=') {
            default = serde_json::from_str(json).ok();
            break;
        }
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        let merge = match word {
            "s" => Some(Merge::Set),
            "a" => Some(Merge::Whole),
            _ => {
                word.strip_prefix("k:").map(|keys| Merge::Keyed(keys.split(',').map(str::to_owned).collect()))
            }
        };
        if let (Some(merge), Form::List(items)) = (merge, ty.form)
            && let Some(items) = built.of_type(items)
        {
            shape = Some(built.shapes.add(Shape::List(List { items, merge })));
            continue;
        }
        match word {
            "A" => {
                let mut own = match ty.form {
                    Form::Struct(id) => object(types, types.struct_(id), built),
                    Form::Map(inner) => Object { rest: built.of_type(inner), ..Object::default() },
                    _ => continue,
                };
                own.whole = true;
                shape = Some(built.shapes.add(Shape::Object(own)));
            }
            "R" => patch.retain_keys = true,
            "P" => patch.replace = true,
            _ => {
                if let Some(key) = word.strip_prefix("m:") {
                    patch.merge = true;
                    patch.key = (!key.is_empty()).then(|| key.to_owned());
                }
            }
        }
    }
    if PARTED.contains(&(one, field.key))
        && let Form::Struct(id) = ty.form
    {
        let own = Object { whole: false, ..object(types, types.struct_(id), built) };
        shape = Some(built.shapes.add(Shape::Object(own)));
    }
    let shape = shape.unwrap_or_else(|| built.shapes.add(Shape::Anything));
    shape::Field { name: field.key.to_owned(), shape, default, required: field.required, patch }
}
