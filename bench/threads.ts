/** Worker threads that share a queue of tasks. */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Sends each task to a thread that runs a file, which answers with one message. Returns these in any order. */
export async function runInThreads<Task, Reply>(
  file: URL,
  tasks: readonly Task[],
  progress?: (task: Task, left: number) => void,
): Promise<readonly Reply[]> {
  const queue = [...tasks];
  const replies: Reply[] = [];
  const threads = Array.from({ length: Math.min(tasks.length, availableParallelism()) });
  await Promise.all(
    threads.map(async () => {
      const worker = new Worker(file);
      for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
        worker.postMessage(task);
        const [reply] = (await once(worker, 'message')) as [Reply];
        replies.push(reply);
        progress?.(task, queue.length);
      }
      await worker.terminate();
    }),
  );
  return replies;
}
