import { schedule } from '../core/job.ts'
import type { IdempotencyKeys } from './idempotency.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly idempotency: IdempotencyKeys
  }
}

export const forgetReplies = schedule({
  name: 'http.forget-replies',
  summary: 'Delete expired replies of idempotency keys',
  cron: '*/10 * * * *',
  run: async ({ idempotency }) => void (await idempotency.sweep()),
})
