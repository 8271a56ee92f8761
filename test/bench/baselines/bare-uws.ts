/** The upper limit of a GET: a uWebSockets.js handler with a constant body. `node bare-uws.ts <port> <body file>` */
import { readFileSync } from 'node:fs'
import { App } from 'uWebSockets.js'

const [port, file] = process.argv.slice(2)
const body = readFileSync(String(file), 'utf8')

App()
  .get('/', (response) => {
    response.cork(() => {
      response.writeHeader('Content-Type', 'application/json')
      response.end(body)
    })
  })
  .listen('127.0.0.1', Number(port), () => console.log('ready'))
