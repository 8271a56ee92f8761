import type { Static, TSchema } from 'typebox'
import type { Api } from '../registry/api.ts'

/**
 * The inputs and replies of all operations, which is all that the clients know about the API. Here they are derived
 * from the declarations. In the package `crier-client`, the same types are written out instead, without the server's
 * source code (`packages/client/build/routes.ts`).
 */

type AnyOperation = { [D in keyof Api]: Api[D][keyof Api[D]] }[keyof Api]
type ByName = { [D in keyof Api]: { [N in keyof Api[D]]: readonly [N, Api[D][N]['route' & keyof Api[D][N]]] } }
type Named = { [D in keyof ByName]: ByName[D][keyof ByName[D]] }[keyof ByName]

/** The type of a part of the request; undefined if the operation has none. */
type Part<Op, Name extends keyof Op> = [NonNullable<Op[Name]>] extends [never]
  ? undefined
  : NonNullable<Op[Name]> extends infer S extends TSchema
    ? Static<S>
    : undefined

/** A query, in which a list of values may be given as a single value. */
type Query<Q> = {
  [K in keyof Q]: NonNullable<Q[K]> extends ReadonlyArray<infer V> ? V | readonly V[] | Extract<Q[K], undefined> : Q[K]
}

type FileKind<U> = [NonNullable<U>] extends [{ readonly kind: infer K }]
  ? [NonNullable<U>] extends [never]
    ? undefined
    : K
  : undefined
type IsFile<R> = R extends { readonly 200: { readonly file: true } } ? true : false
/** A file has a content type, while a schema may be any object, so the file is checked first. */
type BodyOf<S> = S extends null
  ? undefined
  : S extends { readonly contentType: string }
    ? Uint8Array
    : S extends TSchema
      ? Static<S>
      : never

/** The operations by route, such as `GET /api/streams/{id}`. */
export type Routes = {
  [Op in AnyOperation as Op['route']]: {
    path: Part<Op, 'path'>
    query: Query<Part<Op, 'query'>>
    body: Part<Op, 'body'>
    /** How a file is sent: beside fields, as the whole body, or not at all. */
    upload: FileKind<Op['upload']>
    /** Whether the reply is a file. */
    file: IsFile<Op['returns']>
    /** The bodies of replies by status. */
    replies: { [S in keyof Op['returns'] & Success]: BodyOf<Op['returns'][S]> }
  }
}

/** The success statuses. */
export type Success = 200 | 201 | 202 | 204 | 206

/** Routes by operation name. */
export type OperationRoutes = { [One in Named as One[0] & string]: One[1] }
