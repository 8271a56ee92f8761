import { expectTypeOf, test } from 'vitest'
import { createClient, type ApiRoute } from '../src/sdk/client.ts'

/** The type checker runs these tests (`npm run typecheck`). They send nothing. */

const crier = createClient({ url: 'http://localhost:1' })

test('routes, inputs and replies of the client are typed by the operations', () => {
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

    const file = new File([], 'a.png')
    void crier('POST /api/assets/upload', { body: { workspaceId: 'x' }, file })
    // @ts-expect-error -- this route takes a file
    void crier('POST /api/assets/upload', { body: { workspaceId: 'x' } })
    // @ts-expect-error -- this one takes it as the whole body
    void crier('PUT /api/uploads/{uploadId}/content', { path: { uploadId: 'x' }, file })
    // @ts-expect-error -- and this one takes none
    void crier('POST /api/streams', { body: { workspaceId: 'x', title: 'Launch' }, file })
    void crier.open('GET /api/assets/{id}/file', { path: { id: 'x' } })
    // @ts-expect-error -- a reply that is not a file
    void crier.open('GET /api/streams/{id}', { path: { id: 'x' } })

    const toggled = await crier('POST /api/services/{serviceKey}/toggle', { path: { serviceKey: 'x' } })
    expectTypeOf(toggled.body).toEqualTypeOf<undefined>()
  }
  expectTypeOf(never).toBeFunction()
})
