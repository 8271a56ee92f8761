import { callGraph, type GraphApi, type GraphContext, type GraphOptions } from '../meta/graph.ts'

export const TITLE = 'Threads'

/** The only version. */
export const API: GraphApi = { title: TITLE, version: 'v1.0', proof: false }

/** Calls the Threads API as the profile of the credential. @throws PlatformError */
export function call(context: GraphContext, path: string, options?: GraphOptions): Promise<unknown> {
  return callGraph(API, context, path, options)
}
