//! Several requests at once.

use tokio::task::JoinSet;

/// Runs a task for every item, at most so many at once, and gives their results in no order.
pub async fn gather<T, R, W>(items: Vec<T>, limit: usize, work: impl Fn(T) -> W) -> Vec<R>
where
    R: 'static,
    W: Future<Output = R> + 'static,
{
    let mut results = Vec::with_capacity(items.len());
    let mut tasks = JoinSet::new();
    for item in items {
        if tasks.len() >= limit.max(1)
            && let Some(Ok(result)) = tasks.join_next().await
        {
            results.push(result);
        }
        tasks.spawn_local(work(item));
    }
    while let Some(result) = tasks.join_next().await {
        results.extend(result);
    }
    results
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_are_done_and_never_more_than_the_limit_at_once() {
        let (now, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let work = |item: u64| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                now.set(now.get() + 1);
                most.set(most.get().max(now.get()));
                tokio::time::sleep(Duration::from_millis(item % 3)).await;
                now.set(now.get() - 1);
                item
            }
        };
        let local = tokio::task::LocalSet::new();
        let mut done = local.run_until(gather((0..20).collect(), 4, work)).await;
        done.sort();
        assert_eq!((done, most.get()), ((0..20).collect(), 4));
    }
}
