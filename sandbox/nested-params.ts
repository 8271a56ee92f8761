import type { FakeRequest } from './fake.ts'
import { partsOf } from './multipart.ts'

type Params = Record<string, unknown>

/**
 * The body of a request with the nested names of forms that Rails and PHP read: `a[]=1` is a list, `a[b]=1` an object,
 * `a[][b]=1` a list of objects. A body of JSON is returned as it is.
 */
export function nestedParams({ body, bytes, headers }: FakeRequest): Readonly<Params> {
  const type = headers['content-type'] ?? ''
  const fields = type.includes('x-www-form-urlencoded')
    ? [...new URLSearchParams(bytes.toString('utf8'))]
    : partsOf(type, bytes).flatMap(({ bytes: value, filename, name }) =>
        filename === null ? [[name, value.toString('utf8')] as const] : [],
      )
  if (fields.length === 0) return body
  const params: Params = {}
  for (const [name, value] of fields) put(params, keysOf(name), value)
  return params
}

/** `a[b][]` as `a`, `b` and an empty key. */
function keysOf(name: string): string[] {
  const [, first = name, rest = ''] = /^([^[]+)((?:\[[^\]]*\])*)$/.exec(name) ?? []
  return [first, ...Array.from(rest.matchAll(/\[([^\]]*)\]/g), ([, key = '']) => key)]
}

function put(into: Params, [key = '', next, ...rest]: readonly string[], value: string): void {
  if (key === '__proto__') return
  if (next === undefined) into[key] = value
  else if (next === '') {
    const list = (into[key] ??= []) as unknown[]
    const [field] = rest
    if (field === undefined) list.push(value)
    else {
      // A field that the last object has begins another one.
      const last = list.at(-1) as Params | undefined
      const item = last === undefined || field in last ? {} : last
      if (item !== last) list.push(item)
      put(item, rest, value)
    }
  } else put((into[key] ??= {}) as Params, [next, ...rest], value)
}
