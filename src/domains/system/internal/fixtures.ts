import { createHash, randomUUID } from 'node:crypto'
import { PIXEL } from '../../../../test/support/pixel.ts'
import type { Fixtures } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  internalUpload: async ({ app, caller }) => {
    const claims = {
      date: new Date(app.clock.now()).toISOString(),
      nonce: randomUUID(),
      owner: caller.id,
      sha256: createHash('sha256').update(PIXEL).digest('hex'),
      size: PIXEL.length,
    }
    const authorization = app.composition.services.internal.signatures.sign('POST /api/internal/uploads', claims)
    return { as: { apiKey: undefined, headers: { Authorization: authorization } }, once: true }
  },
}
