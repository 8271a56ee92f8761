import { expectTypeOf, test } from 'vitest'
import { createClient, type ApiRoute } from '../src/client.ts'

/** What these say is checked by the type checker: `npm run typecheck`. Nothing is sent. */

const crier = createClient({ url: 'http://localhost:1' })

test('routes, inputs and replies of the client are those of the operations', () => {
  const never = async () => {
    expectTypeOf<'GET /api/streams/{id}'>().toExtend<ApiRoute>()
    // @ts-expect-error -- there is no such route
    void crier('GET /api/nothing')

    // @ts-expect-error -- the path is required
    void crier('GET /api/streams/{id}')
    // @ts-expect-error -- the path has an id
    void crier('GET /api/streams/{id}', { path: { streamId: 'x' } })
    // @ts-expect-error -- a title is required
    void crier('POST /api/streams', { body: { workspaceId: 'x' } })
    // @ts-expect-error -- a title is text
    void crier('POST /api/streams', { body: { workspaceId: 'x', title: 7 } })
    // @ts-expect-error -- this route takes no body
    void crier('GET /api/streams/{id}', { path: { id: 'x' }, body: {} })

    void crier('GET /api/health')
    void crier('POST /api/services/{serviceKey}/toggle', { path: { serviceKey: 'streams' } })

    const made = await crier('POST /api/streams', { body: { workspaceId: 'x', title: 'Launch' } })
    expectTypeOf(made.status).toEqualTypeOf<201>()
    expectTypeOf(made.body.status).toEqualTypeOf<true>()
    expectTypeOf(made.body.data.title).toEqualTypeOf<string>()
    // @ts-expect-error -- a stream has no such field
    void made.body.data.nothing

    const { body } = await crier('GET /api/streams', { query: { workspaceId: 'x', limit: 5 } })
    expectTypeOf(body.pagination.nextCursor).toEqualTypeOf<string | null>()
    expectTypeOf(body.data[0]?._id).toEqualTypeOf<string | undefined>()

    const toggled = await crier('POST /api/services/{serviceKey}/toggle', { path: { serviceKey: 'x' } })
    expectTypeOf(toggled.body).toEqualTypeOf<undefined>()
  }
  expectTypeOf(never).toBeFunction()
})
