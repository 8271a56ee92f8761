/** Lines that strangers can cause any number of times are counted in one way over HTTP, sockets, RTMP and WHIP. */
export { reasonOf, TallyLog } from '../../media/tally-log.ts'
