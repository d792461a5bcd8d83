# The static binary and nothing else. Build: docker build -t millrace .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build

FROM scratch
COPY --from=build /src/bin/millrace /millrace
EXPOSE 3307 8307
VOLUME /data
ENTRYPOINT ["/millrace"]
CMD ["serve", "--listen", "0.0.0.0:3307", "--http", "0.0.0.0:8307", "--data-dir", "/data", "--insecure"]
