import type { IncomingMessage, ServerResponse } from 'node:http'
import { QUEUE_NAMES } from '../core/job.ts'
import type { Backend } from './backend.ts'

export const BOARD_PATH = '/queues'

/**
 * Bull Board, read-only, because the outbox has the state of all jobs. Queues contain no
 * payloads: `GET /api/queue/jobs` shows those, without secrets. Loaded when it is first requested.
 */
export async function queueBoard(
  backend: Backend,
): Promise<(request: IncomingMessage, response: ServerResponse) => void> {
  const [{ createBullBoard }, { BullMQAdapter }, { ExpressAdapter }, { default: express }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/express'),
    import('express'),
  ])
  const serverAdapter = new ExpressAdapter()
  serverAdapter.setBasePath(BOARD_PATH)
  createBullBoard({
    queues: QUEUE_NAMES.map((name) => new BullMQAdapter(backend.queue(name), { readOnlyMode: true })),
    serverAdapter,
  })
  const app = express()
  app.disable('x-powered-by')
  app.use(BOARD_PATH, serverAdapter.getRouter() as never)
  return app
}
