/** What other domains use of notifications. */

export { notify, notifyIn, type Notified } from './notify.ts'
export { render } from './render.ts'
