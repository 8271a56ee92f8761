import type { Static, TSchema } from 'typebox'
import type { Api } from '../registry/api.ts'

/**
 * What each operation takes and answers: all that the clients know of the API. Here it is derived from the declarations.
 * In the package `crier-client` this file is replaced by the same types written out, without the server's sources
 * (`packages/client/build.ts`).
 */

type AnyOperation = { [D in keyof Api]: Api[D][keyof Api[D]] }[keyof Api]
type ByName = { [D in keyof Api]: { [N in keyof Api[D]]: readonly [N, Api[D][N]['route' & keyof Api[D][N]]] } }
type Named = { [D in keyof ByName]: ByName[D][keyof ByName[D]] }[keyof ByName]

/** The type of a part of the request; undefined where the operation takes none. */
type Part<Op, Name extends keyof Op> = [NonNullable<Op[Name]>] extends [never]
  ? undefined
  : NonNullable<Op[Name]> extends infer S extends TSchema
    ? Static<S>
    : undefined

type FileKind<U> = [NonNullable<U>] extends [{ readonly kind: infer K }]
  ? [NonNullable<U>] extends [never]
    ? undefined
    : K
  : undefined
type IsFile<R> = R extends { readonly 200: { readonly file: true } } ? true : false
/** A file says its type, and a schema may be any object: the file is asked for first. */
type BodyOf<S> = S extends null
  ? undefined
  : S extends { readonly contentType: string }
    ? Uint8Array
    : S extends TSchema
      ? Static<S>
      : never

/** The operations by their routes: `GET /api/streams/{id}`. */
export type Routes = {
  [Op in AnyOperation as Op['route']]: {
    path: Part<Op, 'path'>
    query: Part<Op, 'query'>
    body: Part<Op, 'body'>
    /** How a file is sent: beside fields, as the whole body, or not at all. */
    upload: FileKind<Op['upload']>
    /** Whether the reply is a file. */
    file: IsFile<Op['returns']>
    /** The bodies of replies by their status. */
    replies: { [S in keyof Op['returns'] & Success]: BodyOf<Op['returns'][S]> }
  }
}

/** The statuses of a success. */
export type Success = 200 | 201 | 202 | 204 | 206

/** The routes by the names of the operations. */
export type OperationRoutes = { [One in Named as One[0] & string]: One[1] }
