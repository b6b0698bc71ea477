//! The Newton system of one group of circuits, solved step by step along the horizon.
//!
//! With the capacities' prices given, circuits are independent, and each is a chain: the totals
//! after a step are those before it plus the step's rates. So the system is a Riccati recursion
//! from the last step to the first. The prices' own system needs the sum of how all rates respond
//! to all prices; that is the covariance of the Markov chain with the same recursion
//! (`docs/spec/predictor-mpc.md`), which sums of positive terms give without a dense inverse.

use super::lanes::Lanes;
use super::matrix::{
    Matrix, Vector, add, apply, apply_transposed, complement, inverse, product, symmetric_outer,
    symmetric_product, zero,
};
use super::step::{Step, StepTerms};
use super::trial::Trial;

/// How the rates of a step follow from the force on them and from the totals before it.
#[derive(Clone, Copy, Debug)]
struct Response<const D: usize> {
    compliance: Matrix<D>,
    feedback: Matrix<D>,
    /// Forces with the pull of later steps: the direction's, centring's and the correction's.
    drive: Vector<D>,
    centring: Vector<D>,
    correction: Vector<D>,
}

/// The rates of [`WIDTH`](super::lanes::WIDTH) circuits over the horizon.
#[derive(Clone, Debug)]
pub(super) struct Group<const D: usize, const H: usize> {
    pub(super) steps: Vec<Step<D, H>>,
    responses: Vec<Response<D>>,
    /// Of rates and of totals.
    direction: Vec<(Vector<D>, Vector<D>)>,
}

/// Sums over all circuits, in lanes.
#[derive(Clone, Debug)]
pub(super) struct Sums<const D: usize> {
    /// Responses of the rates of step l to forces in step j, for `l >= j`, at `l (l + 1) / 2 + j`.
    pub(super) responses: Vec<Matrix<D>>,
    /// The rates' directions by the predictor, centring and correction.
    pub(super) predictor: Vec<Vector<D>>,
    pub(super) centring: Vec<Vector<D>>,
    pub(super) correction: Vec<Vector<D>>,
}

impl<const D: usize> Sums<D> {
    pub(super) fn new(horizon: usize) -> Self {
        Self {
            responses: vec![zero(); horizon * (horizon + 1) / 2],
            predictor: vec![[Lanes::ZERO; D]; horizon],
            centring: vec![[Lanes::ZERO; D]; horizon],
            correction: vec![[Lanes::ZERO; D]; horizon],
        }
    }

    pub(super) fn clear(&mut self) {
        self.responses.fill(zero());
        self.predictor.fill([Lanes::ZERO; D]);
        self.centring.fill([Lanes::ZERO; D]);
        self.correction.fill([Lanes::ZERO; D]);
    }
}

impl<const D: usize, const H: usize> Group<D, H> {
    pub(super) fn new(horizon: usize) -> Self {
        let none = [Lanes::ZERO; D];
        let response = Response {
            compliance: zero(),
            feedback: zero(),
            drive: none,
            centring: none,
            correction: none,
        };
        Self {
            steps: vec![Step::IDLE; horizon],
            responses: vec![response; horizon],
            direction: vec![(none, none); horizon],
        }
    }

    /// Linearises, factorises and adds up the responses and the predictor without prices.
    pub(super) fn factorise(&mut self, terms: &[StepTerms<D>], sums: &mut Sums<D>) {
        let mut beyond = zero::<D>();
        let mut total_force = [Lanes::ZERO; D];
        let mut pull = [Lanes::ZERO; D];
        for (k, terms) in terms.iter().enumerate().rev() {
            let step = &mut self.steps[k];
            let linear = step.linearise(terms);
            for i in 0..D {
                total_force[i] += linear.total_force[i];
                step.force[i] += total_force[i];
            }
            let cost = add(&linear.holding, &beyond);
            let compliance = inverse(&add(&linear.stiffness, &cost));
            let feedback = product(&compliance, &cost);
            // 1 - feedback, but without cancellation.
            let kept = product(&compliance, &linear.stiffness);
            beyond = symmetric_product(&cost, &kept);
            self.responses[k].compliance = compliance;
            self.responses[k].feedback = feedback;
            let response = &mut self.responses[k];
            response.drive = response.pulled(&mut pull, step.force);
        }
        self.add_responses(&mut sums.responses);
        self.add_direction(&mut sums.predictor, |response| &response.drive);
    }

    /// Adds the covariances of the chain `totals' = (1 - feedback) totals + noise(compliance)`.
    fn add_responses(&self, sums: &mut [Matrix<D>]) {
        let mut covariance = zero::<D>();
        for (j, response) in self.responses.iter().enumerate() {
            let Response {
                compliance,
                feedback,
                ..
            } = response;
            let mixed = outer(&covariance, feedback);
            let own = add(compliance, &symmetric_product(feedback, &mixed));
            let mut cross = own;
            for i in 0..D {
                for l in 0..D {
                    cross[i][l] -= mixed[i][l];
                }
            }
            let kept = complement(feedback);
            covariance = add(
                compliance,
                &symmetric_outer(&product(&kept, &covariance), &kept),
            );
            accumulate(&mut sums[j * (j + 1) / 2 + j], &own);
            for (l, later) in self.responses.iter().enumerate().skip(j + 1) {
                let moved = product(&later.feedback, &cross);
                let sum = &mut sums[l * (l + 1) / 2 + j];
                for a in 0..D {
                    for b in 0..D {
                        cross[a][b] -= moved[a][b];
                        sum[a][b] -= moved[a][b];
                    }
                }
            }
        }
    }

    /// Adds the rates' direction that a drive gives.
    #[inline(always)]
    fn add_direction(&self, sums: &mut [Vector<D>], drive: impl Fn(&Response<D>) -> &Vector<D>) {
        let mut totals = [Lanes::ZERO; D];
        for (response, sum) in self.responses.iter().zip(sums) {
            let rates = response.rates(drive(response), &totals);
            for i in 0..D {
                totals[i] += rates[i];
                sum[i] += rates[i];
            }
        }
    }

    /// Tries the predictor's direction with the change of prices that it asks for, and adds up the
    /// directions of centring and correction.
    pub(super) fn predict(
        &mut self,
        price_steps: &[[f64; D]],
        terms: &[StepTerms<D>],
        sums: &mut Sums<D>,
        trial: &mut Trial,
    ) {
        let mut pull = [Lanes::ZERO; D];
        for (k, prices) in price_steps.iter().enumerate().rev() {
            let force = less(&self.steps[k].force, prices);
            let response = &mut self.responses[k];
            response.drive = response.pulled(&mut pull, force);
        }
        self.follow();
        let mut on_totals = [[Lanes::ZERO; D]; 2];
        let mut pulls = [[Lanes::ZERO; D]; 2];
        for (k, step) in self.steps.iter_mut().enumerate().rev() {
            let (rates, totals) = &self.direction[k];
            let forces = step.predict(rates, totals, terms[k].share, trial);
            let response = &mut self.responses[k];
            for i in 0..D {
                on_totals[0][i] += forces[0][i];
                on_totals[1][i] += forces[1][i];
                step.centring[i] += on_totals[0][i];
                step.correction[i] += on_totals[1][i];
            }
            response.centring = response.pulled(&mut pulls[0], step.centring);
            response.correction = response.pulled(&mut pulls[1], step.correction);
        }
        self.add_direction(&mut sums.centring, |response| &response.centring);
        self.add_direction(&mut sums.correction, |response| &response.correction);
    }

    /// Sets the direction that the drives give.
    fn follow(&mut self) {
        let mut totals = [Lanes::ZERO; D];
        for (response, direction) in self.responses.iter().zip(&mut self.direction) {
            let rates = response.rates(&response.drive, &totals);
            for i in 0..D {
                totals[i] += rates[i];
            }
            *direction = (rates, totals);
        }
    }

    /// Solves once more for what round-off has left of the forces: weights of active constraints
    /// multiply it, and multipliers would not settle.
    fn refine(&mut self, terms: &[StepTerms<D>], target: f64) {
        let mut pull = [Lanes::ZERO; D];
        let mut total_force = [Lanes::ZERO; D];
        for (k, terms) in terms.iter().enumerate().rev() {
            let (rates, totals) = &self.direction[k];
            let [mut force, on_totals] =
                self.steps[k].leftover(terms, rates, totals, target * terms.share);
            for i in 0..D {
                total_force[i] += on_totals[i];
                force[i] += total_force[i];
            }
            let response = &mut self.responses[k];
            response.drive = response.pulled(&mut pull, force);
        }
        let mut totals = [Lanes::ZERO; D];
        for (response, direction) in self.responses.iter().zip(&mut self.direction) {
            let rates = response.rates(&response.drive, &totals);
            for i in 0..D {
                totals[i] += rates[i];
                direction.0[i] += rates[i];
                direction.1[i] += totals[i];
            }
        }
    }

    /// Finds the final direction. With `refine`, the terms after the step of prices, it is refined.
    pub(super) fn correct(
        &mut self,
        price_steps: &[[f64; D]],
        target: f64,
        terms: &[StepTerms<D>],
        refine: bool,
        trial: &mut Trial,
    ) {
        let mut pull = [Lanes::ZERO; D];
        for (k, prices) in price_steps.iter().enumerate().rev() {
            let step = &self.steps[k];
            let mut force = less(&step.force, prices);
            for i in 0..D {
                force[i] += step.centring[i] * target + step.correction[i];
            }
            let response = &mut self.responses[k];
            response.drive = response.pulled(&mut pull, force);
        }
        self.follow();
        if refine {
            self.refine(terms, target);
        }
        for (k, (step, (rates, totals))) in self.steps.iter_mut().zip(&self.direction).enumerate() {
            step.correct(rates, totals, target * terms[k].share, trial);
        }
    }

    /// Goes along the direction; returns slacks times multipliers where that leads.
    pub(super) fn advance(&mut self, length: f64) -> Lanes {
        let mut complementarity = Lanes::ZERO;
        for (step, (direction, _)) in self.steps.iter_mut().zip(&self.direction) {
            for i in 0..D {
                step.rates[i] += direction[i] * length;
            }
            step.advance(length);
            complementarity += step.complementarity();
        }
        self.total();
        complementarity
    }

    /// Sums the rates up into totals.
    pub(super) fn total(&mut self) {
        let mut totals = [Lanes::ZERO; D];
        for step in &mut self.steps {
            for i in 0..D {
                totals[i] += step.rates[i];
            }
            step.totals = totals;
        }
    }
}

impl<const D: usize> Response<D> {
    /// The force on this step with the pull of those after it; takes it into the pull.
    #[inline(always)]
    fn pulled(&self, pull: &mut Vector<D>, force: Vector<D>) -> Vector<D> {
        let mut drive = force;
        for i in 0..D {
            drive[i] += pull[i];
        }
        let taken = apply_transposed(&self.feedback, &drive);
        for i in 0..D {
            pull[i] -= taken[i];
        }
        drive
    }

    /// The rates for the totals before this step.
    #[inline(always)]
    fn rates(&self, drive: &Vector<D>, totals: &Vector<D>) -> Vector<D> {
        let mut rates = apply(&self.compliance, drive);
        let back = apply(&self.feedback, totals);
        for i in 0..D {
            rates[i] -= back[i];
        }
        rates
    }
}

/// `a bᵀ`.
#[inline(always)]
fn outer<const D: usize>(a: &Matrix<D>, b: &Matrix<D>) -> Matrix<D> {
    let mut transposed = *b;
    for i in 0..D {
        for j in 0..D {
            transposed[i][j] = b[j][i];
        }
    }
    product(a, &transposed)
}

#[inline(always)]
fn accumulate<const D: usize>(sum: &mut Matrix<D>, term: &Matrix<D>) {
    *sum = add(sum, term);
}

#[inline(always)]
fn less<const D: usize>(force: &Vector<D>, prices: &[f64; D]) -> Vector<D> {
    let mut result = *force;
    for i in 0..D {
        result[i] -= Lanes::splat(prices[i]);
    }
    result
}
