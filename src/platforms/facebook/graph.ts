import { callGraph, type GraphApi, type GraphContext, type GraphOptions } from '../meta/graph.ts'

export const TITLE = 'Facebook'
/** Released in October 2025. */
export const VERSION = 'v24.0'

const API: GraphApi = { title: TITLE, version: VERSION, proof: true }

/** Calls the Graph API as the page or login of the credential. @throws PlatformError */
export function call(context: GraphContext, path: string, options?: GraphOptions): Promise<unknown> {
  return callGraph(API, context, path, options)
}
