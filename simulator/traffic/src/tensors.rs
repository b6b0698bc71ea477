//! Tensors of a model's file, with errors that say which is wrong and how.

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensorError, SafeTensors};

use crate::ModelError;

/// The metadata key of the description.
const DESCRIPTION: &str = "hopflow-traffic";

/// The tensors of a file.
pub(crate) struct Tensors<'a> {
    file: &'a str,
    tensors: SafeTensors<'a>,
}

/// Rows of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix<T> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Row after row.
    values: Vec<T>,
}

impl<T> Matrix<T> {
    pub(crate) fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    pub(crate) fn iter_rows(&self) -> impl Iterator<Item = &[T]> {
        (0..self.rows).map(|row| self.row(row))
    }
}

/// A number that tensors hold.
pub(crate) trait Number: Copy {
    const DTYPE: Dtype;
    const SIZE: usize;

    /// The number that these little-endian bytes are; `None`: one that no model holds.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

macro_rules! number {
    ($type:ty, $dtype:expr, $allowed:expr) => {
        impl Number for $type {
            const DTYPE: Dtype = $dtype;
            const SIZE: usize = size_of::<Self>();

            fn decode(bytes: &[u8]) -> Option<Self> {
                let allowed: fn(&Self) -> bool = $allowed;
                let number = Self::from_le_bytes(bytes.try_into().ok()?);
                Some(number).filter(allowed)
            }
        }
    };
}

number!(f32, Dtype::F32, |number| number.is_finite());
number!(f64, Dtype::F64, |number| number.is_finite());
number!(u64, Dtype::U64, |_| true);

impl<'a> Tensors<'a> {
    /// The tensors of a file, and the description of the model.
    pub(crate) fn read(bytes: &'a [u8], file: &'a str) -> Result<(Self, String), ModelError> {
        let wrong = |error: SafeTensorError| {
            let allowed = "allowed is a file in the format safetensors";
            ModelError::new(file, format!("{error}; {allowed}"))
        };
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(wrong)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(wrong)?;
        let all = metadata.metadata().as_ref();
        let Some(description) = all.and_then(|all| all.get(DESCRIPTION)) else {
            let problem = format!(
                "has no metadata of the key \"{DESCRIPTION}\"; allowed are files that \
                 hopflow.traffic wrote"
            );
            return Err(ModelError::new(file, problem));
        };
        Ok((Self { file, tensors }, description.clone()))
    }

    /// An error about this file.
    pub(crate) fn error(&self, problem: impl Into<String>) -> ModelError {
        ModelError::new(self.file, problem)
    }

    /// A list of numbers.
    pub(crate) fn list<T: Number>(&self, name: &str) -> Result<Vec<T>, ModelError> {
        let tensor = self.find::<T>(name, 1)?;
        self.decode(name, &tensor)
    }

    /// Rows of numbers.
    pub(crate) fn matrix<T: Number>(&self, name: &str) -> Result<Matrix<T>, ModelError> {
        let tensor = self.find::<T>(name, 2)?;
        Ok(Matrix {
            rows: tensor.shape()[0],
            columns: tensor.shape()[1],
            values: self.decode(name, &tensor)?,
        })
    }

    /// Rows of as many numbers as `shape` says.
    pub(crate) fn matrix_of<T: Number>(
        &self,
        name: &str,
        shape: [usize; 2],
    ) -> Result<Matrix<T>, ModelError> {
        let matrix = self.matrix(name)?;
        self.expect_shape(name, &[matrix.rows, matrix.columns], &shape)?;
        Ok(matrix)
    }

    /// A list of so many numbers.
    pub(crate) fn list_of<T: Number>(
        &self,
        name: &str,
        length: usize,
    ) -> Result<Vec<T>, ModelError> {
        let list = self.list(name)?;
        self.expect_shape(name, &[list.len()], &[length])?;
        Ok(list)
    }

    fn expect_shape(
        &self,
        name: &str,
        found: &[usize],
        allowed: &[usize],
    ) -> Result<(), ModelError> {
        if found == allowed {
            return Ok(());
        }
        let problem =
            format!("the tensor \"{name}\" has the shape {found:?}; allowed is {allowed:?}");
        Err(self.error(problem))
    }

    fn find<T: Number>(&self, name: &str, dimensions: usize) -> Result<TensorView<'a>, ModelError> {
        let tensor = self.tensors.tensor(name).map_err(|_| {
            let names = self.tensors.names().join(", ");
            self.error(format!("has no tensor \"{name}\"; there are: {names}"))
        })?;
        let (dtype, found) = (tensor.dtype(), tensor.shape().len());
        if dtype != T::DTYPE || found != dimensions {
            return Err(self.error(format!(
                "the tensor \"{name}\" is {dtype:?} of {found} dimensions; allowed is {:?} of \
                 {dimensions}",
                T::DTYPE
            )));
        }
        Ok(tensor)
    }

    fn decode<T: Number>(&self, name: &str, tensor: &TensorView<'_>) -> Result<Vec<T>, ModelError> {
        let numbers = tensor.data().chunks_exact(T::SIZE).map(T::decode);
        let numbers: Option<Vec<T>> = numbers.collect();
        numbers.ok_or_else(|| {
            self.error(format!(
                "the tensor \"{name}\" has a number that is not finite; allowed are finite numbers"
            ))
        })
    }
}
